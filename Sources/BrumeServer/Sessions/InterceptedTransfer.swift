internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

/// What passes between the client and the service on the stream of a transfer that an interceptor looks at: in its
/// order, held back and cut into pieces where the interceptor's steps come.
///
/// Bounded: a client sends no more than it has credit for, which is given back for what has passed, and the service
/// sends nothing more while something is held back.
struct InterceptedTransfer {
    enum Parcel {
        case received(StreamMessage, StreamCredit)
        case clientEnded
        case sentOfUpload(UploadEvent)
        case sentOfDownload(DownloadEvent)
        case succeeded
    }

    enum Action {
        case none
        case pass(Parcel)
        case take(CallPlan.Step)
    }

    /// Those to come, the first one first.
    private var steps: [TransferStep]
    private var afterEffect: CallPlan.Step?
    let transferred: (@Sendable (TransferProgress) -> Void)?
    /// Bytes of the content that have passed.
    private var byteCount: UInt64 = 0
    private var parcels: [Parcel] = []
    /// Whether a step waits: nothing passes meanwhile.
    var isWaiting = false

    /// Nil when the plan wants nothing of a transfer.
    init?(_ plan: CallPlan) {
        steps = plan.midway
        transferred = plan.transferred
        if case .goesOn = plan.afterEffect { afterEffect = nil } else { afterEffect = plan.afterEffect }
        if steps.isEmpty, afterEffect == nil, transferred == nil { return nil }
    }

    /// Whether the service may send no content, and is not to go on.
    var isHeldBack: Bool { isWaiting || !parcels.isEmpty }

    mutating func add(_ parcel: Parcel) { parcels.append(parcel) }

    /// What is to be done next. Call it again when that is done.
    ///
    /// - Parameter hasRoom: Whether content may be sent to the client.
    mutating func next(hasRoom: Bool) -> Action {
        if isWaiting { return .none }
        if let step = dueStep() { return .take(step) }
        guard let parcel = parcels.first else { return .none }
        let piece: Int
        switch parcel {
        case .received(.content(let bytes), _): piece = lengthOfPiece(bytes.count)
        case .sentOfDownload(.content(let bytes)):
            guard hasRoom else { return .none }
            piece = lengthOfPiece(bytes.count)
        case .sentOfUpload(.asset), .succeeded:
            if let step = afterEffect.take() { return .take(step) }
            fallthrough
        case .received, .clientEnded, .sentOfUpload, .sentOfDownload:
            parcels.removeFirst()
            return .pass(parcel)
        }
        byteCount += UInt64(piece)
        return .pass(takePiece(piece))
    }

    /// Takes the step whose bytes have passed.
    private mutating func dueStep() -> CallPlan.Step? {
        guard let first = steps.first, first.byteCount <= byteCount else { return nil }
        steps.removeFirst()
        if let interval = first.interval {
            var next = first
            next.byteCount += interval
            steps.insert(next, at: steps.firstIndex { $0.byteCount > next.byteCount } ?? steps.endIndex)
        }
        return first.step
    }

    /// How much of so many bytes passes before the next step.
    private func lengthOfPiece(_ count: Int) -> Int {
        guard let next = steps.first else { return count }
        return Int(min(UInt64(count), next.byteCount - byteCount))
    }

    /// Takes so many bytes of the first parcel.
    private mutating func takePiece(_ count: Int) -> Parcel {
        switch parcels[0] {
        case .received(.content(let bytes), let credit) where count < bytes.count:
            // The message has had its effect with its last piece.
            parcels[0] = .received(.content(Array(bytes[count...])), credit)
            return .received(.content(Array(bytes[..<count])), .none)
        case .sentOfDownload(.content(let bytes)) where count < bytes.count:
            parcels[0] = .sentOfDownload(.content(bytes.part(count..<bytes.count)))
            return .sentOfDownload(.content(bytes.part(0..<count)))
        default: return parcels.removeFirst()
        }
    }
}
