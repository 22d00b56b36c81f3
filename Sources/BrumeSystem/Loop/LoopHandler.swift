/// A connection or a listener of a loop. All calls come on the loop's thread.
protocol LoopHandler: AnyObject {
    /// The descriptor that was registered is ready.
    func socketReady(readable: Bool, writable: Bool)
    /// A turn ends: a handler that was marked with ``EventLoop/flush(_:_:)`` writes its output, unless it has been
    /// marked with another order since, or has written already.
    func turnEnding(_ order: FlushOrder)
    /// A turn after ``EventLoop/continueNextTurn(_:)`` has begun.
    func turnContinuing()
    /// The loop ends: the handler has to release everything at once.
    func loopStopped()
}

/// A descriptor's place in a loop's table. The generation distinguishes events for an earlier owner of the place.
struct Registration: Equatable {
    var slot: UInt32
    var generation: UInt32

    var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
