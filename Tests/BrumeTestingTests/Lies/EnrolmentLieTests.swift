import BrumeTesting
import CloudKit
import Testing

@Suite("Messages of an enrolment on a server that lies", .timeLimit(.minutes(2)))
struct EnrolmentLieTests {
    private typealias Message = ServerLie.EnrolmentMessage

    /// Bytes of each message before its format and its suite: a label and its length.
    private static let formatIndex = 4 + "brume/1/enrol-1".utf8.count
    /// How many bytes each message has.
    private static let byteCounts: [Message: Int] = [.commitment: 57, .offer: 165, .opening: 129, .done: 125]

    /// A new device, and one that has the account's keys, of an account of their own: both count what comes to nothing.
    private struct Devices {
        let phone: TestDevice
        let laptop: TestDevice

        init(_ name: String, on server: TestServer) async throws {
            (phone, laptop) = (try server.device(of: name), try server.device(of: name))
            _ = try await phone.container.recoveryCode()
        }

        /// Both devices up to their codes, which the person types into the phone.
        func begin() async throws -> (enrolment: CKContainer.Enrolment, answer: String) {
            let enrolment = try await laptop.container.requestEnrolment()
            let request = try #require(
                try await phone.container.enrolmentRequests().first { $0.id == enrolment.id })
            let answered = Task { try await phone.container.answer(request) }
            do {
                let shown = try await enrolment.code()
                return (enrolment, try await answered.value.approve(shown, deviceName: "laptop"))
            } catch {
                // The phone is told that there is nothing more to wait for.
                await enrolment.cancel()
                let approval = await failure { try await answered.value }
                // What ends the other side is that this one has ended.
                if let approval, (error as? CKError)?.code == .unknownItem { throw approval }
                throw error
            }
        }

        /// The laptop has no keys, until the server tells the truth.
        func isLetInWithTheTruth() async throws {
            #expect(try await laptop.container.encryptionStatus() == .noKeys(.notEnrolled))
            let (enrolment, answer) = try await begin()
            try await enrolment.confirm(answer)
            #expect(try await laptop.container.encryptionStatus() == .available)
        }
    }

    /// What may come of a message whose byte is another one.
    private func codes(_ message: Message, _ index: Int) -> Set<CKError.Code> {
        switch index - Self.formatIndex {
        case 0, 1: [.incompatibleVersion]
        // Each part has its length in front: with other ones it is no message, and with another content the codes
        // differ.
        case 2... where message == .offer && (index - Self.formatIndex - 2) % 36 >= 4:
            // A signing key with another byte may be none.
            (index - Self.formatIndex - 2) / 36 == 1
                ? [.invalidArguments, .serverRejectedRequest] : [.invalidArguments]
        default: [.serverRejectedRequest]
        }
    }

    @Test(
        "are refused with a byte changed, or cut: the devices' codes are not taken, and the new one gets no keys",
        arguments: [ServerLie.EnrolmentMessage.commitment, .offer, .opening])
    private func changed(message: ServerLie.EnrolmentMessage) async throws {
        let count = Self.byteCounts[message]!
        // The ends of each part, and what is between them in places.
        let parts = stride(from: Self.formatIndex + 2, to: count, by: 36)
        let indices = Set([0, 4, 18, 19, 20] + parts.flatMap { [$0, $0 + 3, $0 + 4, $0 + 17, $0 + 35] })
        var lies = indices.sorted().map { (ServerLie.flipsByte($0, ofEnrolmentMessage: message), codes(message, $0)) }
        for count in [0, 1, 19, 21, count - 36, count - 1] {
            lies.append((.cutsEnrolmentMessage(message, toByteCount: count), [.serverRejectedRequest]))
        }
        let cases = lies
        try await TestServer.run { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, (lie, codes)) in cases.enumerated() {
                    group.addTask {
                        let devices = try await Devices("user-\(number)", on: server)
                        let rule = try await server.lie(
                            lie, to: message == .offer ? devices.laptop : devices.phone)
                        let error = await failure { try await devices.begin() }
                        #expect(error.map { codes.contains($0.code) } == true, "\(lie): \(String(describing: error))")
                        rule.remove()
                        try await devices.isLetInWithTheTruth()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("that end it are refused with any byte changed, or cut, and are taken once the server tells the truth")
    func done() async throws {
        try await TestServer.run { server in
            let devices = try await Devices("ada", on: server)
            let (enrolment, answer) = try await devices.begin()
            let count = try #require(Self.byteCounts[.done])
            for index in 0..<count {
                for lie in [
                    ServerLie.flipsByte(index, ofEnrolmentMessage: .done),
                    .cutsEnrolmentMessage(.done, toByteCount: index),
                ] {
                    let rule = try await server.lie(lie, to: devices.laptop)
                    let error = await failure { try await enrolment.confirm(answer) }
                    let isNewer = lie.description.contains("flipped") && codes(.done, index) == [.incompatibleVersion]
                    #expect(
                        error?.code == (isNewer ? .incompatibleVersion : .accountTemporarilyUnavailable),
                        "\(lie): \(String(describing: error))")
                    rule.remove()
                }
            }
            #expect(try await devices.laptop.container.encryptionStatus() == .noKeys(.notEnrolled))
            try await enrolment.confirm(answer)
            #expect(try await devices.laptop.container.encryptionStatus() == .available)
        }
    }
}
