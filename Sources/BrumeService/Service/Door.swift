package import BrumeModel

/// A way in to the service, as the service sees all of it: connections in the encoding of one protocol, on all loops.
package protocol Door: AnyObject, Sendable {
    /// Begins to look after its connections. Called once the shards have their databases, before the loops run.
    func start()
    /// Adds what the door has open and has counted on a loop to that loop's figures. On that loop.
    func addFigures(ofLoop index: Int, to figures: inout ServerFigures)
    /// Adds what it counts for all loops together. Any thread.
    func addFigures(to figures: inout ServerFigures)
    /// Calls that came in on a loop and are not answered; a stop waits for them. On that loop.
    func unansweredCallCount(onLoop index: Int) -> Int
    /// Bytes of answers under way that count as output of the door's clients. On that loop.
    func heldByteCount(onLoop index: Int) -> Int
    /// Tells all clients that the server is about to stop. Any thread.
    func drain()
    /// Ends all connections once what is pending has been sent. Any thread.
    func close()
    /// Lets go of all connections. Called when no loop runs any more.
    func release()
}
