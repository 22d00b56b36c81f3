/// What devices asked of the server.
extension TestServer {
    /// The calls of devices that reached the server, in the order in which they came, those that have not ended included.
    ///
    /// ```swift
    /// #expect(server.calls(.modifyRecords.from(phone)).count == 1)
    /// #expect(server.calls().map(\.description) == ["ada-1 modifyZones, 1 save: answered", …])
    /// ```
    ///
    /// A call that the SDK sends again is there twice. What the kit itself does, such as ``seed(_:deleting:of:in:)``, is not
    /// there. The last 10,000 are kept.
    ///
    /// - Parameter pattern: Which calls; by default all but the openings of notification streams.
    public func calls(_ pattern: CallPattern = .any) -> [LoggedCall] { script.log.calls(pattern) }

    /// Forgets the calls so far, so that a test sees those of its next step alone.
    public func forgetCalls() { script.log.removeAll() }
}
