internal import BrumeModel
package import BrumeProtocol

/// A request with one answer.
package struct UnaryCall: Sendable {
    /// What may be done when the connection broke and nobody knows whether the server had the request.
    package enum Effect: Sendable {
        /// It reads: send it again.
        case none
        /// It writes and carries an operation id, so that the server does it once however often it comes: send it
        /// again.
        case onceByOperationID
        /// It writes: the caller has to find out what happened.
        case once
    }

    let method: Method
    let payload: [UInt8]
    let effect: Effect
    /// For the server's log.
    let requestID: String
    let operationGroup: String
    let traceParent: TraceParent?
    /// Its place among the calls that wait for the connection.
    let priority: CallPriority

    package init(
        method: Method, payload: [UInt8], effect: Effect, requestID: String, operationGroup: String = "",
        traceParent: TraceParent? = nil, priority: CallPriority = .standard
    ) {
        self.method = method
        self.payload = payload
        self.effect = effect
        self.requestID = requestID
        self.operationGroup = operationGroup
        self.traceParent = traceParent
        self.priority = priority
    }
}

extension ClientSessionStateMachine.Work {
    /// Bytes that the call holds while it is open.
    var byteCount: Int {
        if case .unary(let call) = self { call.payload.count } else { 0 }
    }
}
