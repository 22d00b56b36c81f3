internal import BrumeKit
internal import BrumeLock
internal import BrumeModel
internal import BrumeProtocol
internal import BrumeServer

/// The calls that reached a server, in the order in which they came. Bounded: the oldest go.
final class CallLog: Sendable {
    private struct State {
        var calls: [LoggedCall] = []
        /// The number of the first one that is still there.
        var firstNumber = 0
    }

    private let state = Lock(State())

    func calls(_ pattern: CallPattern) -> [LoggedCall] {
        state.withLock { $0.calls }.filter { $0.fits(pattern) }
    }

    func removeAll() {
        state.withLock { state in
            state.firstNumber += state.calls.count
            state.calls = []
        }
    }

    /// A call came in. Returns its number.
    func began(_ call: LoggedCall) -> Int {
        state.withLock { state in
            if state.calls.count >= TestLimits.loggedCallsMax {
                let count = TestLimits.loggedCallsMax / 10
                state.calls.removeFirst(count)
                state.firstNumber += count
            }
            state.calls.append(call)
            return state.firstNumber + state.calls.count - 1
        }
    }

    /// The content of a transfer came or went.
    func transferred(_ number: Int, _ progress: TransferProgress) {
        state.withLock { state in
            let index = number - state.firstNumber
            guard state.calls.indices.contains(index) else { return }
            switch progress {
            case .beganUpload(let offset): state.calls[index].offset = Int(clamping: offset)
            case .passed(let byteCount): state.calls[index].byteCount += byteCount
            }
        }
    }

    func ended(_ number: Int, _ method: Method, _ outcome: CallPlan.Outcome) {
        let answer: CallAnswer? =
            if case .answered(let bytes) = outcome { CallAnswer(method, bytes) } else { nil }
        state.withLock { state in
            let index = number - state.firstNumber
            // It may be gone.
            guard state.calls.indices.contains(index) else { return }
            switch outcome {
            case .answered: state.calls[index].outcome = .answered
            case .failed(let error): state.calls[index].outcome = .failed(error.clientCode)
            case .unanswered: state.calls[index].outcome = .unanswered
            }
            state.calls[index].itemCount = answer?.itemCount ?? 0
            state.calls[index].itemFailures = answer?.failures ?? []
        }
    }
}

/// What the list of calls tells of an answer.
private struct CallAnswer {
    private(set) var itemCount = 0
    private(set) var failures: [CKError.Code] = []

    init(_ method: Method, _ bytes: [UInt8]) {
        var read = self
        let isReadable = bytes.withUnsafeBytes { (try? read.read(method, $0)) != nil }
        if isReadable { self = read }
    }

    private mutating func read(_ method: Method, _ bytes: UnsafeRawBufferPointer) throws(ServiceError) {
        let coder = MessageCoder()
        switch method {
        case .recordsModify:
            for zone in try coder.decodeModifyRecordsResponse(bytes) {
                for save in zone.saves {
                    if case .failure(let error) = save.outcome { failures.append(error.clientCode) }
                }
                failures += zone.deletions.compactMap { $0?.clientCode }
            }
        case .recordsFetch:
            for outcome in try coder.decodeFetchRecordsResponse(bytes).joined() {
                switch outcome {
                case .record: itemCount += 1
                case .failure(let error): failures.append(error.clientCode)
                case .deferred: break
                }
            }
        case .recordsQuery: itemCount = try coder.decodeQueryResponse(bytes).matches.count
        case .recordsChanges:
            let page = try coder.decodeZoneChangesResponse(bytes)
            itemCount = page.records.count + page.deletions.count
        case .databasesChanges:
            let page = try coder.decodeDatabaseChangesResponse(bytes)
            itemCount = page.changed.count + page.deletions.count + page.earlierDeletions.count
        case .zonesModify:
            let result = try coder.decodeModifyZonesResponse(bytes)
            for case .failure(let error) in result.saves { failures.append(error.clientCode) }
            failures += result.deletions.compactMap { $0?.clientCode }
        default: break
        }
    }
}

extension ServiceError {
    /// The code as the SDK tells it.
    fileprivate var clientCode: CKError.Code { CKError.Code(rawValue: Int(code.rawValue)) ?? .internalError }
}
