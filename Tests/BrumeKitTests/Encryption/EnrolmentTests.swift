import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeKit

/// A person with two devices, and what the server passes on between them.
@Suite("A device that asks to be let in", .timeLimit(.minutes(1)))
struct EnrolmentTests {
    let server: RunningServer
    let token: String
    /// Waits of all devices; nobody waits but for the other device.
    let clock = ManualClientClock()

    init() throws {
        server = try RunningServer()
        token = try server.addAccount("ada")
    }

    private func device(_ name: String) -> CKContainer {
        server.device(token: token) {
            $0.deviceName = name
            $0.clock = clock
        }
    }

    private func phone() async throws -> CKContainer {
        let phone = device("phone")
        _ = try await phone.recoveryCode()
        return phone
    }

    /// The new device has shown its code, and a person looks at the other one.
    private func answered(
        _ enrolment: CKContainer.Enrolment, by device: CKContainer
    ) async throws -> (shown: String, approval: CKContainer.EnrolmentApproval) {
        let request = try #require(try await device.enrolmentRequests().first { $0.id == enrolment.id })
        async let approval = device.answer(request)
        // It has sent its offer, and waits for what the new device says.
        await clock.waiting()
        let shown = try await enrolment.code()
        clock.advance(byMilliseconds: EnrolmentRelay.pauseMilliseconds)
        return (shown, try await approval)
    }

    private func other(than code: String) -> String { String(code.dropLast()) + (code.last == "0" ? "1" : "0") }

    @Test("has the account's keys once a person has typed what each device shows into the other")
    func letIn() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        let zone = try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Diary"))
        let page = CKRecord(recordType: "Page", recordID: CKRecord.ID(recordName: "1", zoneID: zone.zoneID))
        page.encryptedValues["text"] = "dear diary"
        try await phone.privateCloudDatabase.save(page)
        #expect(try await laptop.privateCloudDatabase.record(for: page.recordID).unreadableFields["text"] != nil)

        let enrolment = try await laptop.requestEnrolment()
        let requests = try await phone.enrolmentRequests()
        #expect(requests.map(\.id) == [enrolment.id] && enrolment.id.count == 8)
        #expect(requests.allSatisfy { (590...600).contains($0.secondsLeft) })
        let (shown, approval) = try await answered(enrolment, by: phone)
        #expect(try await enrolment.code() == shown)
        #expect(try await phone.enrolmentRequests().map(\.isAnswered) == [true])
        // A slip is no guess, on either device.
        for slip in ["", "12345", "1234567", "12345ß"] {
            #expect(await code { try await approval.approve(slip, deviceName: "x") } == .invalidArguments)
        }
        let answer = try await approval.approve(
            " \(shown.prefix(3).lowercased())-\(shown.dropFirst(3))", deviceName: "Ada's laptop")
        #expect(answer != shown && CKContainer.Enrolment.isCode(answer))
        #expect(try await laptop.encryptionStatus() == .noKeys(.notEnrolled))
        #expect(await code { try await enrolment.confirm(String(answer.dropLast())) } == .invalidArguments)
        try await enrolment.confirm(answer.lowercased())

        #expect(try await laptop.encryptionStatus() == .available)
        #expect(try await laptop.encryptionDevices().map(\.name) == ["phone", "Ada's laptop"])
        #expect(try await laptop.encryptionDevices().map(\.isCurrent) == [false, true])
        let read = try await laptop.privateCloudDatabase.record(for: page.recordID)
        #expect(read.encryptedValues["text"] == "dear diary")
        // Calls whose answers were lost are made again.
        #expect(try await approval.approve(shown, deviceName: "again") == answer)
        try await enrolment.confirm(answer)
        #expect(try await phone.encryptionDevices().count == 2)
        #expect(await code { try await laptop.requestEnrolment() } == .invalidArguments)
    }

    @Test("gets none with a wrong code, which ends it on both devices, and three in an hour stop it")
    func wrongCode() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        for _ in 0..<EnrolmentGuesses.limit {
            let enrolment = try await laptop.requestEnrolment()
            let (shown, approval) = try await answered(enrolment, by: phone)
            let failure = await failure { try await approval.approve(other(than: shown), deviceName: "laptop") }
            #expect(failure?.code == .invalidArguments)
            #expect(failure?.localizedDescription.contains(shown) == false)
            #expect(await code { try await approval.approve(shown, deviceName: "laptop") } == .unknownItem)
            #expect(await code { try await enrolment.confirm(shown) } == .invalidArguments)
            #expect(await code { try await enrolment.confirm(shown) } == .unknownItem)
        }
        #expect(try await phone.encryptionDevices().map(\.name) == ["phone"])
        let failure = await failure { try await laptop.requestEnrolment() }
        #expect(failure?.code == .requestRateLimited && (failure?.retryAfterSeconds ?? 0) > 3_500)
        // The recovery code is another way in.
        try await laptop.useRecoveryCode(try await phone.replaceRecoveryCode().text)
        #expect(try await laptop.encryptionStatus() == .available)
    }

    @Test("counts for itself, and does not have to believe the server's count")
    func ownCount() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        for _ in 0..<EnrolmentGuesses.limit {
            let enrolment = try await laptop.requestEnrolment()
            let (_, approval) = try await answered(enrolment, by: phone)
            // No wrong code, so that the server counts nothing.
            await approval.reject()
            await enrolment.cancel()
        }
        #expect(await code { try await laptop.requestEnrolment() } == .requestRateLimited)
        let tablet = device("tablet")
        let enrolment = try await tablet.requestEnrolment()
        let request = try #require(try await phone.enrolmentRequests().first)
        #expect(await code { try await phone.answer(request) } == .requestRateLimited)
        clock.advance(byMilliseconds: EnrolmentGuesses.windowMilliseconds)
        #expect(await code { try await enrolment.code() } == .unknownItem)
        await enrolment.cancel()
        let later = try await tablet.requestEnrolment()
        let (shown, approval) = try await answered(later, by: phone)
        try await later.confirm(try await approval.approve(shown, deviceName: "tablet"))
        #expect(try await tablet.encryptionStatus() == .available)
        _ = try await laptop.requestEnrolment()
    }

    @Test("takes no key where the other device shows another code, and can be removed from the list")
    func wrongCodeOfOther() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        let enrolment = try await laptop.requestEnrolment()
        let (shown, approval) = try await answered(enrolment, by: phone)
        let answer = try await approval.approve(shown, deviceName: "laptop")
        #expect(await code { try await enrolment.confirm(other(than: answer)) } == .invalidArguments)
        #expect(await code { try await enrolment.confirm(answer) } == .unknownItem)
        #expect(try await laptop.encryptionStatus() == .noKeys(.notEnrolled))
        let listed = try #require(try await phone.encryptionDevices().last)
        #expect(listed.name == "laptop")
        try await phone.removeEncryptionDevice(listed)
        #expect(try await phone.encryptionDevices().count == 1)
    }

    @Test("is let in by nobody who stands between the devices")
    func between() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        let enrolment = try await laptop.requestEnrolment()
        // Somebody who has a token of the account, or the server, answers with keys of their own, and asks the phone.
        let account = laptop.core.account
        let relay = EnrolmentRelay(account: account)
        let scope = try await account.keys.enrolments(of: account).scope
        let own = KeyPairs(seed: .random())
        let identity = try Identity.first(
            scope: scope, device: own.publicKeys, deviceName: "phone", code: RecoveryCode()
        ).identity
        let asked = try #require(try await relay.enrolments().first)
        var passing = try EnrollingDeviceStateMachine(
            identity: identity, device: own, requestID: asked.id, commitment: asked.messages[0])
        try await relay.post(.offer, try #require(passing.offer), of: asked.id)
        let shown = try await enrolment.code()
        try passing.take(opening: try #require(try await relay.enrolments(id: asked.id).first?.messages.last))

        let requestID = CKContainer.EnrolmentRequest.newID()
        var posing = NewDeviceStateMachine(scope: scope, device: KeyPairs(seed: .random()), requestID: requestID)
        try await relay.post(.commitment, try #require(posing.commitment), of: requestID)
        let request = try #require(try await phone.enrolmentRequests().first { !$0.isAnswered })
        async let approval = phone.answer(request)
        await clock.waiting()
        let offer = try #require(try await relay.enrolments(id: requestID).first?.messages.last)
        let (opening, _) = try posing.take(offer: offer)
        try await relay.post(.opening, opening, of: requestID)
        clock.advance(byMilliseconds: EnrolmentRelay.pauseMilliseconds)
        let answered = try await approval

        // The person types what the laptop shows into the phone.
        #expect(await code { try await answered.approve(shown, deviceName: "laptop") } == .invalidArguments)
        #expect(try await phone.encryptionDevices().count == 1)
        await enrolment.cancel()
        #expect(try await laptop.encryptionStatus() == .noKeys(.notEnrolled))
    }

    @Test("is let in by nobody after ten minutes, whatever the server says, and each offer counts")
    func time() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        let enrolment = try await laptop.requestEnrolment()
        let (shown, approval) = try await answered(enrolment, by: phone)
        clock.advance(byMilliseconds: EnrolmentRelay.lifetimeMilliseconds)
        #expect(await code { try await approval.approve(shown, deviceName: "laptop") } == .unknownItem)
        #expect(await code { try await enrolment.confirm(shown) } == .unknownItem)
        await enrolment.cancel()

        // Two whose other side never answers.
        for _ in 0..<2 {
            let enrolment = try await laptop.requestEnrolment()
            let request = try #require(try await phone.enrolmentRequests().first)
            let answer = Task { await code { try await phone.answer(request) } }
            await clock.waiting()
            await enrolment.cancel()
            clock.advance(byMilliseconds: EnrolmentRelay.pauseMilliseconds)
            #expect(await answer.value == .unknownItem)
        }
        let last = try await laptop.requestEnrolment()
        let request = try #require(try await phone.enrolmentRequests().first { $0.id == last.id })
        #expect(await code { try await phone.answer(request) } == .requestRateLimited)
        // Another container of the device, as after a new token, counts on.
        let again = server.device(token: token) {
            $0.stateFolder = phone.core.configuration.stateFolder
            $0.clock = clock
        }
        #expect(await code { try await again.answer(request) } == .requestRateLimited)
    }

    @Test("is told where the other device ends it, and tells that one")
    func cancelling() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        var enrolment = try await laptop.requestEnrolment()
        await enrolment.cancel()
        #expect(try await phone.enrolmentRequests().isEmpty)
        #expect(await code { try await enrolment.code() } == .unknownItem)

        enrolment = try await laptop.requestEnrolment()
        var (shown, approval) = try await answered(enrolment, by: phone)
        await enrolment.cancel()
        #expect(await code { try await approval.approve(shown, deviceName: "laptop") } == .unknownItem)

        enrolment = try await laptop.requestEnrolment()
        (shown, approval) = try await answered(enrolment, by: phone)
        await approval.reject()
        #expect(await code { try await approval.approve(shown, deviceName: "laptop") } == .unknownItem)
        #expect(await code { try await enrolment.code() } == .unknownItem)
        #expect(try await phone.encryptionDevices().count == 1)
    }

    @Test("waits no longer than its task, and another device's answer is told from one's own")
    func waiting() async throws {
        let (phone, laptop, tablet) = (try await phone(), device("laptop"), device("tablet"))
        try await tablet.useRecoveryCode(try await phone.replaceRecoveryCode().text)
        let enrolment = try await laptop.requestEnrolment()
        let waiting = Task { await code { try await enrolment.code() } }
        await clock.waiting()
        waiting.cancel()
        #expect(await waiting.value == .operationCancelled)

        let request = try #require(try await tablet.enrolmentRequests().first)
        let (shown, approval) = try await answered(enrolment, by: phone)
        #expect(await code { try await tablet.answer(request) } == .serverRecordChanged)
        try await enrolment.confirm(try await approval.approve(shown, deviceName: "laptop"))
        #expect(try await laptop.encryptionStatus() == .available)
    }

    @Test("can be turned away by any device that has the keys, answered or not, so that others can ask")
    func rejecting() async throws {
        let (phone, laptop) = (try await phone(), device("laptop"))
        for _ in 0..<4 { _ = try await laptop.requestEnrolment() }
        #expect(await code { try await laptop.requestEnrolment() } == .requestRateLimited)
        let requests = try await phone.enrolmentRequests()
        #expect(requests.count == 4 && Set(requests.map { "\($0)" }).count == 4)
        for request in requests { try await phone.reject(request) }
        try await phone.reject(requests[0])
        #expect(try await phone.enrolmentRequests().isEmpty)
        let enrolment = try await laptop.requestEnrolment()
        let (shown, approval) = try await answered(enrolment, by: phone)
        try await phone.reject(try #require(try await phone.enrolmentRequests().first))
        #expect(await code { try await approval.approve(shown, deviceName: "laptop") } == .unknownItem)
        #expect(try await phone.encryptionDevices().count == 1)
    }

    @Test("is named by its digits where the person gives no name, and in one line; as many as come are let in")
    func names() async throws {
        let phone = try await phone()
        // More than may fail in an hour.
        let names =
            [("", nil), (" \n", nil), ("a\nb", "ab"), ("four", "four"), ("five", "five")] as [(String, String?)]
        for (name, shown) in names {
            let new = device("new")
            let enrolment = try await new.requestEnrolment()
            let (code, approval) = try await answered(enrolment, by: phone)
            try await enrolment.confirm(try await approval.approve(code, deviceName: name))
            #expect(try await new.encryptionDevices().last?.name == shown ?? "device \(enrolment.id)")
        }
    }

    @Test("that has got the keys otherwise meanwhile says that it is listed twice")
    func twice() async throws {
        let phone = device("phone")
        let recovery = try await phone.recoveryCode()
        let laptop = device("laptop")
        let enrolment = try await laptop.requestEnrolment()
        let (shown, approval) = try await answered(enrolment, by: phone)
        try await laptop.useRecoveryCode(recovery.text)
        let answer = try await approval.approve(shown, deviceName: "again")
        let failure = await failure { try await enrolment.confirm(answer) }
        #expect(failure?.code == .invalidArguments && failure?.localizedDescription.contains("once more") == true)
        #expect(try await laptop.encryptionStatus() == .available)
        #expect(try await phone.encryptionDevices().map(\.name) == ["phone", "laptop", "again"])
    }

    @Test("needs an account with keys, and another device that has them")
    func refused() async throws {
        let (phone, laptop) = (device("phone"), device("laptop"))
        #expect(await code { try await laptop.requestEnrolment() } == .unknownItem)
        #expect(await code { try await phone.enrolmentRequests() } == .unknownItem)
        _ = try await phone.recoveryCode()
        #expect(await code { try await laptop.enrolmentRequests() } == .accountTemporarilyUnavailable)
        let enrolment = try await laptop.requestEnrolment()
        #expect(await code { try await enrolment.confirm("123456") } == .invalidArguments)
        let request = try #require(try await phone.enrolmentRequests().first)
        #expect(await code { try await laptop.answer(request) } == .accountTemporarilyUnavailable)
        let stranger = server.device(token: nil)
        #expect(await code { try await stranger.requestEnrolment() } == .notAuthenticated)
        #expect(await code { try await stranger.enrolmentRequests() } == .notAuthenticated)
        let bob = try server.addAccount("bob")
        let other = server.device(token: bob)
        _ = try await other.recoveryCode()
        #expect(try await other.enrolmentRequests().isEmpty)
        // Another account's device can't answer what it has read elsewhere.
        #expect(await code { try await other.answer(request) } == .unknownItem)
        #expect(try await phone.enrolmentRequests().map(\.id) == [enrolment.id])
    }
}
