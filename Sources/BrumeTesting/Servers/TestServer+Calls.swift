/// What devices asked of the server, and whether they reach it.
extension TestServer {
    /// The calls of devices that reached the server, in the order in which they came, those that have not ended
    /// included.
    ///
    /// ```swift
    /// #expect(server.calls(.modifyRecords.from(phone)).count == 1)
    /// #expect(server.calls().map(\.description) == ["ada-1 modifyZones, 1 save: answered", …])
    /// ```
    ///
    /// A call that the SDK sends again is there twice. What the kit itself does, such as ``seed(_:deleting:of:in:)``,
    /// is not there. The last 10,000 are kept.
    ///
    /// - Parameter pattern: Which calls; by default all but the openings of notification streams, and
    ///   but those about encryption keys.
    public func calls(_ pattern: CallPattern = .any) -> [LoggedCall] { script.log.calls(pattern) }

    /// Forgets the calls so far, so that a test sees those of its next step alone.
    public func forgetCalls() { script.log.removeAll() }

    /// Whether devices that have a network reach the server.
    public var isReachable: Bool { devices.isServerReachable }

    /// No device reaches the server from now on, as when it is down or a firewall is in between. Their connections
    /// break, and calls fail at once with `networkUnavailable`, writes in flight with `serverResponseLost`; those of
    /// the qualities of service `utility` and `background` wait, and so do listeners to
    /// ``BrumeKit/CKContainer/notifications``.
    ///
    /// For a single device there is ``TestDevice/goOffline()``, for the time in the midst of a call
    /// ``ServerScript/loseNetwork(during:_:times:)``.
    public func goUnreachable() { devices.setServerReachable(false) }

    /// Devices reach the server again. Those with something that waits do so at once.
    public func goReachable() { devices.setServerReachable(true) }
}
