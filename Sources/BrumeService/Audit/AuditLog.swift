package import BrumeModel

/// What operators did, kept so that nobody can change a part of it unseen. On the admin loop.
package protocol AuditLog: AnyObject, Sendable {
    /// Notes that an act is about to begin. It is durable when this returns.
    ///
    /// - Returns: The note's number; nil for a look that may go on without one, since the disk is full.
    /// - Throws: Where it can't be kept: then the act must not begin.
    func begin(_ act: OperatorAct, from origin: OperatorOrigin) throws(ServiceError) -> UInt64?

    /// Notes how an act has ended. Where that can't be kept, the log says so, and the act has no end in the audit log.
    ///
    /// - Parameters:
    ///   - number: What ``begin(_:from:)`` returned.
    ///   - error: Nil for an act that was done.
    func end(_ number: UInt64, _ error: ServiceError?)
}

/// What an operator does, and on what. It has no contents: no token, no address, no schema.
package struct OperatorAct: Equatable, Sendable {
    /// `account.add` and its like: `Documentation/Operations.md` lists them.
    package let name: String
    /// The account, or the container with its environment; empty: the whole server.
    package let target: String
    /// Whether nothing is changed. On a full disk an operator has to see what is there.
    package let isLook: Bool

    package init(_ name: String, _ target: String = "", isLook: Bool = false) {
        (self.name, self.isLook) = (name, isLook)
        // Before it is looked at a name may be anything.
        self.target = String(String.UnicodeScalarView(target.unicodeScalars.prefix(ServiceLimits.auditTargetScalars)))
    }
}

/// Where a request of an operator came from.
package struct OperatorOrigin: Equatable, Sendable {
    /// The process and its user, or an address.
    package let peer: String
    /// The id that the client gave the request; may be empty.
    package let request: String

    package init(peer: String, request: String) { (self.peer, self.request) = (peer, request) }
}
