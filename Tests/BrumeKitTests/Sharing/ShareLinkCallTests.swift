@testable import BrumeKit
import BrumeEncryption
import BrumeModel
import BrumeProtocol
import BrumeTestKit
import Foundation
import Testing

@Suite("Calls that name shares' URLs", .timeLimit(.minutes(1)))
struct ShareLinkCallTests {
    private let transport = FakeTransport()
    private let coder = MessageCoder()
    private let guest = RandomShare.user(1)

    private func url(_ token: String) -> URL { URL(string: "https://example.com/share/\(token)")! }

    private func answer() -> [UInt8] {
        coder.encodeShareMetadataResponse(
            ShareMetadata(
                container: "iCloud.lists", environment: .development,
                zone: ZoneID(name: "Lists", owner: ShareSamples.owner),
                share: ShareSamples.stored(ShareSamples.view(publicPermission: .readOnly)), root: "list",
                role: .publicUser, permission: .readOnly, isAccepted: false, user: guest))
    }

    /// The client's next call for metadata.
    private func metadataCall() async throws -> (stream: UInt32, request: ShareMetadataRequest) {
        let call = try await transport.call()
        #expect(call.header.method == .sharesMetadata)
        let request = try call.payload.withUnsafeBytes { try coder.decodeShareMetadataRequest($0) }
        return (call.stream, request)
    }

    private func openCalls(_ container: CKContainer) async throws -> Int {
        try await container.core.openSession().openCallCount
    }

    private func code<Value>(_ result: Result<Value, any Error>?) -> CKError.Code? { (result?.error as? CKError)?.code }

    @Test("what can't be a share's URL is not sent, and of the others all but the fragment, which holds the title")
    func addresses() async throws {
        let (container, folder) = try fakeContainer(transport)
        let malformed = [
            URL(fileURLWithPath: "/share/token"), URL(string: "/share/token")!, URL(string: "https://example.com/")!,
            URL(string: "https://example.com/shares/token")!, URL(string: "mailto:share@example.com")!,
            url(String(repeating: "a", count: 2_048)),
        ]
        let requests = try await container.requestShareAccess(for: malformed)
        #expect(malformed.allSatisfy { code(requests[$0]) == .invalidArguments })
        await #expect(
            performing: { try await container.shareMetadata(for: malformed[0]) },
            throws: { CKError.invalidArguments ~= $0 && !$0.localizedDescription.contains("token") })
        #expect(try await openCalls(container) == 0)

        let relative = URL(string: "relative", relativeTo: URL(string: "https://example.com/share/"))!
        let keys = ShareSamples.link()
        let sound = [
            url("token#Grocer%23ies?"), url("query?a=b#\(String(repeating: "t", count: 3_000))"), relative,
            url("keys#\(keys.text)"), url("escaped%23\(keys.text)"), url("twice%2523\(keys.text)?from=mail"),
            url("later?a=b%23\(keys.text)"), URL(string: "https://[fe80::1%25eth0]/share/zone%23\(keys.text)")!,
        ]
        let fetch = Task { try await container.shareMetadatas(for: malformed + sound + sound) }
        let connection = try await transport.welcomed()
        var sent: Set<String> = []
        for _ in sound {
            let call = try await metadataCall()
            sent.insert(call.request.url)
            #expect(call.request == ShareMetadataRequest(url: call.request.url))
            connection.answer(call.stream, answer())
        }
        let addresses = ["token", "query?a=b", "relative", "keys", "escaped", "twice", "later?a=b"]
        #expect(
            sent == Set(addresses.map { "https://example.com/share/\($0)" } + ["https://[fe80::1%25eth0]/share/zone"]))
        let results = try await fetch.value
        #expect(malformed.allSatisfy { code(results[$0]) == .invalidArguments })
        #expect(try sound.allSatisfy { try results[$0]?.get().containerIdentifier == "iCloud.lists" })
        #expect(results.count == malformed.count + sound.count)
        for (url, hasKeys) in zip(sound, [false, false, false, true, true, false, false, true]) {
            #expect(try results[url]?.get().link?.text == (hasKeys ? keys.text : nil), "\(url)")
            #expect(try results[url]?.get().hasKeys == hasKeys)
        }
        withExtendedLifetime(folder) {}
    }

    @Test("an operation sends four at a time, and fails for single URLs with what is about them alone")
    func operation() async throws {
        let (container, folder) = try fakeContainer(transport)
        let codes: [String: ErrorCode] = [
            "a": .unknownItem, "b": .participantMayNeedVerification, "c": .requestRateLimited, "d": .internalError,
        ]
        let urls = ["a", "b", "c", "d", "e", "f"].map { url($0) }
        let transcript = Transcript()
        let operation = CKFetchShareMetadataOperation(shareURLs: urls + [urls[0]])
        operation.shouldFetchRootRecord = true
        operation.rootRecordDesiredKeys = ["title"]
        operation.perShareMetadataResultBlock = { transcript.add($0.lastPathComponent, $1) }
        operation.fetchShareMetadataResultBlock = { transcript.add("end", $0) }
        let end = operation.started { container.add(operation) }
        let connection = try await transport.welcomed()
        var calls: [(stream: UInt32, request: ShareMetadataRequest)] = []
        for _ in 0..<4 { calls.append(try await metadataCall()) }
        #expect(try await openCalls(container) == 4)
        for count in 1...6 {
            let call = calls.removeFirst()
            #expect(call.request.wantsRoot && call.request.rootKeys == ["title"])
            if let code = codes[String(call.request.url.suffix(1))] {
                connection.status(call.stream, code)
            } else {
                connection.answer(call.stream, answer())
            }
            if count <= 2 { calls.append(try await metadataCall()) }
        }
        await end.value
        #expect(
            transcript.lines == [
                "a: unknownItem", "b: participantMayNeedVerification", "c: requestRateLimited", "d: internalError", "e",
                "f", "end",
            ])
        withExtendedLifetime(folder) {}
    }

    @Test("an operation of the earlier style gets partialFailure, whose text holds no URL")
    func olderOperation() async throws {
        let (container, folder) = try fakeContainer(transport)
        let (transcript, texts) = (Transcript(), Transcript())
        let operation = CKFetchShareMetadataOperation(shareURLs: [url("a"), url("secret")])
        let deprecated: any DeprecatedFetchMetadata = operation
        deprecated.perShareMetadataBlock = { transcript.add("\($0.lastPathComponent) \($1 != nil)", $2) }
        deprecated.fetchShareMetadataCompletionBlock = {
            transcript.add("end", $0)
            texts.add($0?.localizedDescription ?? "")
        }
        let end = operation.started { container.add(operation) }
        let connection = try await transport.welcomed()
        for _ in 0..<2 {
            let call = try await metadataCall()
            #expect(call.request.rootKeys == nil && !call.request.wantsRoot)
            if call.request.url.hasSuffix("secret") {
                connection.status(call.stream, .unknownItem)
            } else {
                connection.answer(call.stream, answer())
            }
        }
        await end.value
        #expect(
            transcript.lines == [
                "a true", "secret false: unknownItem", "end: partialFailure [secret unknownItem]",
            ])
        #expect(texts.lines[0].contains("example.com") && !texts.lines[0].contains("secret"))
        withExtendedLifetime(folder) {}
    }

    @Test("what is about the account or the connection fails the whole call, and cancels what is under way")
    func wholeFailure() async throws {
        let (container, folder) = try fakeContainer(transport)
        let urls = ["a", "b", "c", "d", "e", "f"].map { url($0) }
        let transcript = Transcript()
        let operation = CKShareRequestAccessOperation(shareURLs: urls)
        operation.perShareAccessRequestResultBlock = { transcript.add($0.lastPathComponent, $1) }
        operation.shareAccessRequestResultBlock = { transcript.add("end", $0) }
        let end = operation.started { container.add(operation) }
        let connection = try await transport.welcomed()
        var streams: [String: UInt32] = [:]
        for _ in 0..<4 {
            let call = try await transport.call()
            #expect(call.header.method == .sharesRequestAccess)
            let url = try call.payload.withUnsafeBytes { try coder.decodeRequestAccessRequest($0) }
            streams[String(url.suffix(1))] = call.stream
        }
        connection.status(try #require(streams["c"]), .serviceUnavailable)
        for _ in 0..<3 { _ = try await transport.message(.cancel) }
        await end.value
        let names = ["a", "b", "c", "d", "e", "f", "end"]
        #expect(transcript.lines == names.map { "\($0): serviceUnavailable" })
        #expect(try await openCalls(container) == 0)

        let fetch = Task { try await container.shareMetadatas(for: urls) }
        for _ in 0..<4 { _ = try await metadataCall() }
        fetch.cancel()
        for _ in 0..<4 { _ = try await transport.message(.cancel) }
        await #expect(performing: { try await fetch.value }, throws: { CKError.operationCancelled ~= $0 })
        withExtendedLifetime(folder) {}
    }

    @Test("a request for access is sent again when the connection breaks before the answer")
    func sentAgain() async throws {
        let (container, folder) = try fakeContainer(transport)
        let share = url("token")
        let request = Task { try await container.requestShareAccess(for: [share]) }
        let first = try await transport.welcomed()
        let sent = try await transport.call().payload
        first.fail()
        transport.advance(seconds: 5)
        let second = try await transport.welcomed()
        let call = try await transport.call()
        #expect(call.payload == sent)
        second.status(call.stream, .participantAlreadyInvited)
        #expect(code(try await request.value[share]) == .participantAlreadyInvited)
        withExtendedLifetime(folder) {}
    }

    @Test("all of them take an account")
    func noAccount() async throws {
        let (container, folder) = try fakeContainer(transport, token: nil)
        await #expect(
            performing: { try await container.shareMetadata(for: url("a")) }, throws: { CKError.notAuthenticated ~= $0 }
        )
        await #expect(
            performing: { try await container.shareMetadatas(for: [url("a")]) },
            throws: { CKError.notAuthenticated ~= $0 })
        await #expect(
            performing: { try await container.requestShareAccess(for: []) }, throws: { CKError.notAuthenticated ~= $0 })
        let transcript = Transcript()
        let operation = CKFetchShareMetadataOperation(shareURLs: [url("a")])
        operation.perShareMetadataResultBlock = { transcript.add($0.lastPathComponent, $1) }
        operation.fetchShareMetadataResultBlock = { transcript.add("end", $0) }
        await operation.finished { container.add(operation) }
        #expect(transcript.lines == ["a: notAuthenticated", "end: notAuthenticated"])
        withExtendedLifetime(folder) {}
    }
}

// What is deprecated, without the warnings.

private protocol DeprecatedFetchMetadata: AnyObject {
    var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? { get set }
    var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? { get set }
}

extension CKFetchShareMetadataOperation: DeprecatedFetchMetadata {}
