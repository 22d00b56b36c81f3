/// Learns how much output a connection holds, as far as that is worth counting. Called on the connection's loop.
package protocol OutputCounter: AnyObject, Sendable {
    /// The connection holds that many bytes more, or fewer when negative.
    func outputChanged(by byteCount: Int)
}

extension Connection {
    /// Has output counted from now on, until the connection ends or leaves its loop.
    package func countOutput(with counter: any OutputCounter) {
        outputCounter = counter
        countOutput()
    }

    /// Tells the counter what has changed. Up to ``Limits/uncountedOutputBytes`` count as nothing, so that a connection
    /// whose peer reads needs no counting.
    func countOutput() {
        guard let outputCounter else { return }
        let held = pendingOutputBytes > Limits.uncountedOutputBytes ? pendingOutputBytes : 0
        guard held != countedOutputBytes else { return }
        outputCounter.outputChanged(by: held - countedOutputBytes)
        countedOutputBytes = held
    }

    /// The connection holds no more output, or another owner has it.
    func endCounting() {
        if countedOutputBytes > 0 { outputCounter?.outputChanged(by: -countedOutputBytes) }
        countedOutputBytes = 0
        outputCounter = nil
    }
}
