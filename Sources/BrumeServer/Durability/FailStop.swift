/// Ends the process, because what is on the disk can't be known any more (P8). Gets a sentence for the operator.
///
/// Tests and simulations note the sentence instead, and treat the server as ended.
package typealias FailStop = @Sendable (_ reason: String) -> Void
