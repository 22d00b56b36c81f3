internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeServer

/// What a test server does otherwise than a healthy one: calls that fail, connections that break, notifications that
/// are lost.
///
/// ```swift
/// server.script.fail(.modifyRecords, with: .zoneBusy, retryAfterSeconds: 2)
/// server.script.failSaves(of: "Note", with: .quotaExceeded, times: 3)
/// server.script.breakConnection(during: .modifyRecords, .afterEffect)
/// let held = server.script.hold(.fetchZoneChanges.from(phone))
/// ```
///
/// Rules are asked in the order in which they were written; the first that fits a call, and has not fired as often as
/// it was told, has it. Delays, page sizes and what happens in the midst of transfers come on top of that. All others
/// are served as ever, and errors go over the wire, so that the SDK reads them as any server's.
///
/// A rule that a test needs and that never fires is a mistake of the test: ``unfired`` names those rules, and
/// ``TestServer/run(accounts:options:isolation:_:)`` throws when there is one.
///
/// May be used from any thread while the server runs.
public final class ServerScript: Sendable {
    struct Entry: Sendable {
        enum Action: Sendable {
            case call(CallPattern, CallMoment, CallAction)
            case delay(CallPattern, CallMoment, milliseconds: UInt64)
            case rate(CallPattern, bytesPerSecond: UInt64)
            case pages(CallPattern, itemCount: Int)
            case childrenFirst(ChildrenFirst)
            case indexLag(milliseconds: UInt64)
            case save(SavePattern, ServiceError)
            case deletion(recordName: String?, PeerPattern, ServiceError)
            case tokens(PeerPattern, TokenExpiry)
            case quota(PeerPattern, DatabaseScope, records: Int)
            case push(PushPattern, PushAction)
            case lie(ToldLie)
        }

        let rule: ScriptRule
        let action: Action
    }

    enum CallAction: Sendable {
        case fails(ServiceError)
        case breaksConnection
        case losesNetwork
        case isHeld(ScriptHold)
    }

    enum PushAction: Sendable {
        case isLost
        case leavesTwice
        case isHeld(ScriptHold)
    }

    struct SavePattern: Sendable {
        var zone: String?
        /// Whether saves with encrypted values alone are meant.
        var isEncrypted = false
        var recordType: String?
        var recordName: String?
        var peer: PeerPattern
    }

    struct State: Sendable {
        var entries: [Entry] = []
        /// Accounts that are not taken in, and what they are told.
        var refusals: [String: ServiceError] = [:]
        /// Open notification streams of each device.
        var listening: [[UInt8]: Int] = [:]
        /// Calls that wait for the clock.
        var delays: [Int: ScriptDelay] = [:]
        var listeningWaiters: [Int: (device: [UInt8], continuation: CheckedContinuation<Bool, Never>)] = [:]
        var lastWaiter = 0
        var cancelledWaiters: Set<Int> = []
    }

    let state = Lock(State())
    let clock: TestClock
    /// Whether records are dated by the clock.
    let datesRecords: Bool
    let devices: DeviceList
    let log = CallLog()

    init(clock: TestClock, datesRecords: Bool, devices: DeviceList) {
        self.clock = clock
        self.datesRecords = datesRecords
        self.devices = devices
        devices.setScript(self)
    }

    /// The rules that have not fired as often as they were told, in words; those for always, never. At the end of a
    /// test: `#expect(server.script.unfired.isEmpty)`.
    public var unfired: [String] {
        state.withLock { $0.entries.map(\.rule) }.filter(\.isUnfired).map { rule in
            rule.times == .max
                ? "\(rule.description): never fired"
                : "\(rule.description): fired \(rule.firedCount) of \(rule.times) times"
        }
    }

    /// Removes all rules and lets go of what they hold: the server is a healthy one again.
    public func removeAll() {
        let entries = state.withLock { state in
            defer { state.entries.removeAll { !$0.isWithholding } }
            return state.entries
        }
        for entry in entries {
            entry.rule.remove()
            entry.hold?.release()
        }
        endDelays(.goesOn)
    }

    /// The server is about to stop: what is held fails.
    func end() {
        let entries = state.withLock { $0.entries }
        let step = CallPlan.Step.fails(
            ServiceError(.serviceUnavailable, "the test server was stopped while a script held the call"))
        for entry in entries { entry.hold?.release(step) }
        endDelays(step)
    }

    func add(_ description: String, times: Int, _ action: Entry.Action) -> ScriptRule {
        let rule = ScriptRule(description, times: times)
        add(Entry(rule: rule, action: action))
        return rule
    }

    func add(_ entry: Entry) {
        if case .afterBytes(let count) = entry.moment {
            precondition(count >= 0, "nothing happens after \(count) bytes of a transfer")
        }
        state.withLock { state in
            if state.entries.count >= TestLimits.rulesMax {
                state.entries.removeAll { $0.rule.isDone && !$0.rule.isUnfired && !$0.isWithholding }
            }
            precondition(
                state.entries.count < TestLimits.rulesMax,
                "a server's script has \(TestLimits.rulesMax) rules that wait, which is the limit: use times, or removeAll()"
            )
            state.entries.append(entry)
        }
    }

    var entries: [Entry] { state.withLock { $0.entries } }
}

extension ServerScript.Entry {
    var hold: ScriptHold? {
        switch action {
        case .call(_, _, .isHeld(let hold)), .push(_, .isHeld(let hold)): hold
        default: nil
        }
    }

    /// When it happens to a call; nil for what happens to none.
    var moment: CallMoment? {
        switch action {
        case .call(_, let moment, _), .delay(_, let moment, _): moment
        default: nil
        }
    }

    /// Whether it keeps records of a fetch that is under way.
    var isWithholding: Bool { if case .childrenFirst(let order) = action { order.isWithholding } else { false } }
}
