/// A connection or a listener of a loop. All calls come on the loop's thread.
protocol LoopHandler: AnyObject {
    /// The descriptor that was registered is ready.
    func socketReady(readable: Bool, writable: Bool)
    /// Whether ``turnEnding()`` has to come with this turn: a peer waits for it, and it does not take long. Otherwise
    /// it comes after the others', and maybe with a later turn.
    var sendsPromptly: Bool { get }
    /// The turn ends: a handler that was marked with ``EventLoop/flushAtEndOfTurn(_:)`` writes its output.
    func turnEnding()
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
