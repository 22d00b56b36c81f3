internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService
internal import BrumeSystem

/// Calls of a session as its door's interceptor wants them.
extension Session {
    /// A request came in and the server has an interceptor.
    func intercept(
        _ method: Method, _ payload: UnsafeRawBufferPointer, stream: UInt32, endsStream: Bool,
        _ interceptor: any CallInterceptor
    ) {
        let plan = interceptor.plan(for: method, payload, of: InterceptedPeer(identity))
        let call = InterceptedCall(method, plan)
        if call.isOfInterest { interceptedCalls[stream] = call }
        guard let request = plan.request else {
            return begin(method, payload, stream: stream, endsStream: endsStream, plan.beforeEffect)
        }
        request.withUnsafeBytes { begin(method, $0, stream: stream, endsStream: endsStream, plan.beforeEffect) }
    }

    private func begin(
        _ method: Method, _ payload: UnsafeRawBufferPointer, stream: UInt32, endsStream: Bool, _ step: CallPlan.Step
    ) {
        switch step {
        case .goesOn: handle(method, payload, stream: stream, endsStream: endsStream)
        case .fails(let error): refuse(stream, error)
        case .breaksConnection: breakConnection()
        case .waits(let register):
            let request = [UInt8](payload)
            let loop = shard.loop
            register { step in
                loop.execute {
                    self.shard.takeTurn(of: self.share.key) {
                        self.resume(method, request, stream: stream, endsStream: endsStream, step)
                    }
                }
            }
        }
    }

    private func resume(
        _ method: Method, _ request: [UInt8], stream: UInt32, endsStream: Bool, _ step: CallPlan.Step
    ) {
        // The client may have given up meanwhile.
        guard isOpen(stream) else { return }
        switch step {
        case .goesOn, .waits:
            request.withUnsafeBytes { handle(method, $0, stream: stream, endsStream: endsStream) }
        case .fails(let error): refuse(stream, error)
        case .breaksConnection: breakConnection()
        }
    }

    /// Takes the step that a call's plan wants before its answer leaves; nil if it wants none, or none any more.
    func takeStepAfterEffect(stream: UInt32) -> CallPlan.Step? {
        guard let step = interceptedCalls[stream]?.afterEffect else { return nil }
        if case .goesOn = step { return nil }
        interceptedCalls[stream]!.afterEffect = .goesOn
        return step
    }

    /// A call has ended.
    func noteEnd(of stream: UInt32, _ outcome: CallPlan.Outcome) {
        interceptedCalls.removeValue(forKey: stream)?.ended?(outcome)
    }

    /// All calls have ended with their connection.
    func noteEndOfAllCalls() {
        for call in exchange(&interceptedCalls, with: [:]).values { call.ended?(.unanswered) }
    }

    /// Gives the outcome of a call that took effect, as its plan wants it.
    func finish(_ stream: UInt32, _ outcome: Outcome, _ step: CallPlan.Step) {
        switch step {
        case .goesOn: finish(stream, outcome)
        case .fails(let error): finish(stream, .failure(error))
        case .breaksConnection: breakConnection()
        case .waits(let register):
            let loop = shard.loop
            register { step in
                loop.execute {
                    if case .waits = step { return self.finish(stream, outcome) }
                    self.finish(stream, outcome, step)
                }
            }
        }
    }
}

/// What an interceptor still wants of a call.
struct InterceptedCall {
    var afterEffect: CallPlan.Step
    /// Nil for what is no transfer, and for one that nobody looks at.
    var transfer: InterceptedTransfer?
    let ended: (@Sendable (CallPlan.Outcome) -> Void)?

    init(_ method: Method, _ plan: CallPlan) {
        ended = plan.ended
        guard method == .assetsUpload || method == .assetsDownload else {
            afterEffect = plan.afterEffect
            return
        }
        afterEffect = .goesOn
        transfer = InterceptedTransfer(plan)
    }

    /// Whether the session has to keep it.
    var isOfInterest: Bool {
        if case .goesOn = afterEffect { return ended != nil || transfer != nil }
        return true
    }
}
