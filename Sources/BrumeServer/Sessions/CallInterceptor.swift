package import BrumeModel
package import BrumeProtocol
package import BrumeService

/// Makes a door treat calls differently for a test. A server that is not under test has none.
///
/// Called on the server's loops, several at a time.
package protocol CallInterceptor: AnyObject, Sendable {
    /// The request of a call came in.
    ///
    /// - Parameter payload: The encoded request, valid for the call.
    func plan(for method: Method, _ payload: UnsafeRawBufferPointer, of peer: InterceptedPeer) -> CallPlan
}

/// What should happen to a call, before it has an effect and after.
package struct CallPlan: Sendable {
    package enum Step: Sendable {
        case goesOn
        case fails(ServiceError)
        /// The connection ends without an answer.
        case breaksConnection
        /// The call waits until what is registered is called, once and from any thread, with the step that is taken
        /// then.
        case waits(@Sendable (_ resume: @escaping @Sendable (Step) -> Void) -> Void)
    }

    /// How a call ended for its peer.
    package enum Outcome: Sendable {
        /// With the encoded answer; with none where a stream ended because its client sends no more.
        case answered([UInt8])
        case failed(ServiceError)
        /// The connection ended, or the peer gave the call up or broke its rules.
        case unanswered
    }

    /// The request to serve instead of the one that came in; nil for no change.
    package var request: [UInt8]?
    package var beforeEffect: Step
    /// Taken when the answer is about to leave: of an upload the asset with its receipt, of a download its end. A
    /// notification stream has none.
    package var afterEffect: Step
    /// What happens in the midst of a transfer of an asset, the first one first. Other calls have none.
    package var midway: [TransferStep] = []
    /// Called on a loop of the server as the content of a transfer passes.
    package var transferred: (@Sendable (TransferProgress) -> Void)?
    /// Called once, on a loop of the server, before the peer is told.
    package var ended: (@Sendable (Outcome) -> Void)?

    package init(beforeEffect: Step = .goesOn, afterEffect: Step = .goesOn) {
        self.beforeEffect = beforeEffect
        self.afterEffect = afterEffect
    }
}

/// What should happen to a transfer of an asset when so many bytes of the content have passed.
package struct TransferStep: Sendable {
    /// Bytes that have passed in this call.
    package var byteCount: UInt64
    /// After how many more bytes it happens again, each time; nil: it happens once.
    package let interval: UInt64?
    package let step: CallPlan.Step

    package init(at byteCount: UInt64, repeatedEvery interval: UInt64? = nil, _ step: CallPlan.Step) {
        precondition(interval != 0, "a step that is repeated after no bytes has no end")
        (self.byteCount, self.interval, self.step) = (byteCount, interval, step)
    }
}

/// What an interceptor learns of a transfer.
package enum TransferProgress: Sendable {
    /// An upload goes on from this byte of the content.
    case beganUpload(at: UInt64)
    /// So many more bytes of the content have passed.
    case passed(byteCount: Int)
}
