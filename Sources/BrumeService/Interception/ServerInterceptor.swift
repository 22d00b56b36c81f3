package import BrumeModel

/// Makes a server behave differently for a test: it is asked when a write reaches its database, when a page is about to
/// be answered, and when an event leaves for a device. A server that is not under test has none, which costs one nil
/// check for each of them.
///
/// Called on the server's loops, several at a time.
package protocol ServerInterceptor: AnyObject, Sendable {
    /// The time that records are dated by, in milliseconds since 1970; nil for the machine's.
    var wallClockMilliseconds: Int64? { get }

    /// Called when a client claims to be an account. Returns why it is refused; nil when it isn't.
    func refusal(ofAccount name: String) -> ServiceError?

    /// A write is about to be decided. A save fails with the problem that is put into its fields, a deletion with the
    /// one that is put into `refusedDeletions`; the rules for batches hold.
    func willModify(
        _ request: inout ModifyRecordsRequest<CheckedFields>, in database: InterceptedDatabase, of peer: InterceptedPeer
    )

    /// A page of a zone's changes is about to be answered. Its records are encoded `brume.v1.Record`s.
    func willAnswer(
        _ page: inout ZoneChangesPage<SharedBytes, ChangeToken>, to request: ZoneChangesRequest,
        of peer: InterceptedPeer
    )

    /// A page of a query's matches is about to be answered.
    func willAnswer(_ page: inout QueryPage<SharedBytes>, of peer: InterceptedPeer)

    /// An event is about to be sent to a device.
    ///
    /// - Parameter event: An encoded `brume.v1.NotificationEvent`, without its position.
    func plan(for event: [UInt8], to peer: InterceptedPeer) -> EventPlan

    /// A device's notification stream is open, or has ended.
    func notificationsChanged(isOpen: Bool, of peer: InterceptedPeer)
}

/// The peer of a call or an event.
package struct InterceptedPeer: Sendable {
    /// The account's name; nil without one.
    package let account: String?
    /// 16 bytes.
    package let deviceID: [UInt8]

    package init(_ identity: Identity) {
        if case .account(let name) = identity.role { account = name } else { account = nil }
        deviceID = identity.deviceID
    }
}

/// What should happen to an event.
package enum EventPlan: Sendable {
    case leaves
    case isLost
    case leavesTwice
    /// It leaves when what is registered is called, once and from any thread, after those that left meanwhile.
    case waits(@Sendable (_ resume: @escaping @Sendable () -> Void) -> Void)
}

/// The database that a write is about to change. Valid for the call.
package struct InterceptedDatabase {
    package let scope: DatabaseScope
    /// Records that exist in all zones, users' records included.
    package let recordCount: Int
    package let userRecordCount: () -> Int
    package let holdsRecord: (_ name: String, _ zone: ZoneID) -> Bool
}
