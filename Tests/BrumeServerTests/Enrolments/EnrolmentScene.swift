import BrumeModel
import Testing

@testable import BrumeService

/// A table of enrolments and its clock, which a test turns.
struct EnrolmentScene {
    var table: EnrolmentTable
    var now: UInt64 = 5_000

    init(_ adjust: (inout EnrolmentTable.Limits) -> Void = { _ in }) {
        var limits = EnrolmentTable.Limits()
        adjust(&limits)
        table = EnrolmentTable(limits: limits)
    }

    static func id(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: Limits.enrolmentIDBytes) }

    func caller(_ account: String, container: String = "one", token: UInt8 = 1) -> EnrolmentTable.Caller {
        EnrolmentTable.Caller(
            account: .account(account),
            database: DatabaseID(
                container: container, environment: .development, scope: .private, owner: "_\(account)-\(container)"),
            tokenHash: [token])
    }

    mutating func post(
        _ id: UInt8, step: Int = 1, _ message: [UInt8] = [1], by caller: EnrolmentTable.Caller? = nil
    ) throws(ServiceError) {
        let request = PostEnrolmentRequest(id: Self.id(id), step: step, message: message)
        try table.post(request, by: caller ?? self.caller("a"), nowMilliseconds: now)
    }

    /// Why a message is refused; nil where it is taken.
    mutating func refusal(
        _ id: UInt8, step: Int = 1, _ message: [UInt8] = [1], by caller: EnrolmentTable.Caller? = nil
    ) -> ServiceError? {
        do throws(ServiceError) {
            try post(id, step: step, message, by: caller)
            return nil
        } catch {
            #expect(!error.message.isEmpty && (error.code == .requestRateLimited) == (error.retryAfterMilliseconds > 0))
            return error
        }
    }

    mutating func fetched(only id: UInt8? = nil, by caller: EnrolmentTable.Caller? = nil) -> [RelayedEnrolment] {
        table.fetch(id.map(Self.id), by: caller ?? self.caller("a"), nowMilliseconds: now)
    }

    mutating func end(_ id: UInt8, wrongCode: Bool = false, by caller: EnrolmentTable.Caller? = nil) {
        let request = EndEnrolmentRequest(id: Self.id(id), isForWrongCode: wrongCode)
        table.end(request, by: caller ?? self.caller("a"), nowMilliseconds: now)
    }
}

extension RelayedEnrolment {
    init(_ id: UInt8, _ messages: [[UInt8]], millisecondsLeft: UInt32) {
        self.init(id: EnrolmentScene.id(id), messages: messages, millisecondsLeft: millisecondsLeft)
    }
}
