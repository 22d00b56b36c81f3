@testable import BrumeKit
import BrumeEncryption
import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Foundation
import Testing

@Suite("Accepting shares", .timeLimit(.minutes(1)))
struct ShareAcceptanceTests {
    private let transport = FakeTransport()
    private let coder = MessageCoder()
    private let guest = RandomShare.user(1)

    private func metadata(_ token: String, container: String = "iCloud.test") throws -> CKShare.Metadata {
        let details = ShareSamples.view(url: "/share/\(token)", publicPermission: .readOnly)
        return try CKShareMetadata.make(
            ShareMetadata(
                container: container, environment: .development,
                zone: ZoneID(name: "Lists", owner: ShareSamples.owner),
                share: ShareSamples.record(details, title: "Ours"), root: "", role: .publicUser, permission: .readOnly,
                isAccepted: false, user: guest), origin: "https://example.com:7440")
    }

    private func answer(owner: String = ShareSamples.owner) -> [UInt8] {
        let view = ShareSamples.view([ShareSamples.accepted("g", user: 1, role: .publicUser)])
        return coder.encodeAcceptShareResponse(
            AcceptedShare(zone: ZoneID(name: "Lists", owner: owner), share: ShareSamples.stored(view)))
    }

    /// The client's next acceptance.
    private func acceptance() async throws -> (stream: UInt32, url: String) {
        let call = try await transport.call()
        #expect(call.header.method == .sharesAccept)
        return (call.stream, try call.payload.withUnsafeBytes { try coder.decodeAcceptShareRequest($0) })
    }

    private func code<Value>(_ result: Result<Value, any Error>?) -> CKError.Code? { (result?.error as? CKError)?.code }

    @Test("sends the share's URL without its title, and gives the share in its owner's zone")
    func accepts() async throws {
        let (container, folder) = try fakeContainer(transport)
        let metadata = try metadata("a")
        #expect(metadata.share.url?.fragment() == "Ours")
        let keys = ShareSamples.link()
        metadata.share.show(ShareLinks(forMany: keys))
        #expect(metadata.share.url?.fragment() == keys.text + ".Ours")
        let accept = Task { try await container.accept(metadata) }
        let connection = try await transport.welcomed(user: guest)
        let call = try await acceptance()
        #expect(call.url == "https://example.com:7440/share/a")
        connection.answer(call.stream, answer())
        let share = try await accept.value
        #expect(share.recordID.zoneID == CKRecordZone.ID(zoneName: "Lists", ownerName: ShareSamples.owner))
        let me = try #require(share.currentUserParticipant)
        #expect(me.acceptanceStatus == .accepted && me.role == .publicUser && me.permission == .readOnly)
        #expect(share.owner.userIdentity.userRecordID?.recordName == ShareSamples.owner)
        withExtendedLifetime(folder) {}
    }

    @Test("is sent again when the connection breaks before the answer")
    func sentAgain() async throws {
        let (container, folder) = try fakeContainer(transport)
        let metadata = try metadata("a")
        let accept = Task { try await container.accept(metadata) }
        let first = try await transport.welcomed(user: guest)
        let sent = try await acceptance()
        first.fail()
        transport.advance(seconds: 5)
        let second = try await transport.welcomed(user: guest)
        let call = try await acceptance()
        #expect(call.url == sent.url)
        second.answer(call.stream, answer())
        #expect(try await accept.value.currentUserParticipant?.acceptanceStatus == .accepted)
        withExtendedLifetime(folder) {}
    }

    @Test("of another container's share is refused unsent, and keeps no other share from being accepted")
    func otherContainer() async throws {
        let (container, folder) = try fakeContainer(transport)
        let (own, other) = (try metadata("a"), try metadata("b", container: "iCloud.other"))
        #expect(await failure { try await container.accept(other) }?.code == .badContainer)
        let accept = Task { try await container.accept([other, own, own]) }
        let connection = try await transport.welcomed(user: guest)
        let call = try await acceptance()
        #expect(call.url.hasSuffix("/share/a"))
        connection.answer(call.stream, answer())
        let results = try await accept.value
        #expect(results.count == 2 && code(results[other]) == .badContainer)
        #expect(try results[own]?.get().currentUserParticipant != nil)
        withExtendedLifetime(folder) {}
    }

    @Test("as an operation fails for single shares, and ends well where the blocks are those of today")
    func operation() async throws {
        let (container, folder) = try fakeContainer(transport)
        let metadatas = try ["a", "b", "c"].map { try metadata($0) } + [metadata("d", container: "iCloud.other")]
        let transcript = Transcript()
        let operation = CKAcceptSharesOperation(shareMetadatas: metadatas)
        operation.perShareResultBlock = { transcript.add($0.share.url?.lastPathComponent ?? "", $1) }
        operation.acceptSharesResultBlock = { transcript.add("end", $0) }
        let end = operation.started { container.add(operation) }
        try await play(["b": .unknownItem, "c": .serverRejectedRequest])
        await end.value
        #expect(
            transcript.lines == ["a", "b: unknownItem", "c: serverRejectedRequest", "d: badContainer", "end"])
        withExtendedLifetime(folder) {}
    }

    @Test("as an operation of the earlier style gets partialFailure under the URLs")
    func olderOperation() async throws {
        let (container, folder) = try fakeContainer(transport)
        let transcript = Transcript()
        let operation = CKAcceptSharesOperation(
            shareMetadatas: [try metadata("a"), try metadata("b"), try metadata("d", container: "iCloud.other")])
        let deprecated: any DeprecatedAcceptShares = operation
        deprecated.perShareCompletionBlock = { metadata, share, error in
            transcript.add("\(metadata.share.url?.lastPathComponent ?? "") \(share != nil)", error)
        }
        deprecated.acceptSharesCompletionBlock = { transcript.add("end", $0) }
        let end = operation.started { container.add(operation) }
        try await play(["b": .tooManyParticipants])
        await end.value
        #expect(
            transcript.lines == [
                "a true", "b false: tooManyParticipants", "d false: badContainer",
                "end: partialFailure [b tooManyParticipants, d badContainer]",
            ])
        withExtendedLifetime(folder) {}
    }

    /// Answers as many acceptances as there can be: of the shares "a" and those of the codes.
    private func play(_ codes: [String: ErrorCode]) async throws {
        let connection = try await transport.welcomed(user: guest)
        for _ in 0...codes.count {
            let call = try await acceptance()
            if let code = codes[String(call.url.suffix(1))] {
                connection.status(call.stream, code)
            } else {
                connection.answer(call.stream, answer())
            }
        }
    }

    @Test("fails whole with what is about the account or the connection")
    func wholeFailure() async throws {
        let (container, folder) = try fakeContainer(transport)
        let metadatas = try ["a", "b"].map { try metadata($0) }
        let transcript = Transcript()
        let operation = CKAcceptSharesOperation(shareMetadatas: metadatas)
        operation.perShareResultBlock = { transcript.add($0.share.url?.lastPathComponent ?? "", $1) }
        operation.acceptSharesResultBlock = { transcript.add("end", $0) }
        let end = operation.started { container.add(operation) }
        let connection = try await transport.welcomed(user: guest)
        let calls = [try await acceptance(), try await acceptance()]
        connection.status(calls[0].stream, .serviceUnavailable)
        _ = try await transport.message(.cancel)
        await end.value
        #expect(transcript.lines == ["a: serviceUnavailable", "b: serviceUnavailable", "end: serviceUnavailable"])

        let accept = Task { try await container.accept(metadatas) }
        let call = try await acceptance()
        _ = try await acceptance()
        connection.status(call.stream, .accountTemporarilyUnavailable)
        _ = try await transport.message(.cancel)
        #expect(await failure { try await accept.value }?.code == .accountTemporarilyUnavailable)
        withExtendedLifetime(folder) {}
    }

    @Test("takes an account, and no answer that names a zone of the user's own or of nobody")
    func refusals() async throws {
        let (anonymous, otherFolder) = try fakeContainer(transport, token: nil)
        let metadata = try metadata("a")
        #expect(await failure { try await anonymous.accept(metadata) }?.code == .notAuthenticated)
        #expect(
            await failure { try await anonymous.accept([CKShare.Metadata]()) }?.code == .notAuthenticated)

        let (container, folder) = try fakeContainer(transport)
        var connection: FakeConnection?
        for owner in [guest, "", "ada"] {
            let accept = Task { try await container.accept(metadata) }
            if connection == nil { connection = try await transport.welcomed(user: guest) }
            let call = try await acceptance()
            connection?.answer(call.stream, answer(owner: owner))
            #expect(await failure { try await accept.value }?.code == .internalError)
        }
        withExtendedLifetime((folder, otherFolder)) {}
    }
}

// What is deprecated, without the warnings.

private protocol DeprecatedAcceptShares: AnyObject {
    var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? { get set }
    var acceptSharesCompletionBlock: (((any Error)?) -> Void)? { get set }
}

extension CKAcceptSharesOperation: DeprecatedAcceptShares {}
