internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// The bodies that the data folder holds in its checksummed envelopes, as values: `brume.store.v1` in `proto/`.
///
/// Envelopes have been checked before a body is decoded, so that damage here means another program or version wrote it.
/// It is reported all the same; it never traps, and nothing is read past the end.
package enum StoreCoder {
    /// A body in memory takes at most this many times its bytes: the worst is a list of empty messages.
    private static let arenaBytesPerByte = 128

    static func unpack<Message, Value>(
        _ unpack: Unpack<Message>, _ bytes: UnsafeRawBufferPointer, _ kind: StaticString,
        _ value: (UnsafeMutablePointer<Message>) throws(StoreCodingError) -> Value
    ) throws(StoreCodingError) -> Value {
        let arena = MessageArena(bytesLimit: 1024 * 1024 + bytes.count * arenaBytesPerByte)
        guard let message = arena.unpack(unpack, bytes) else {
            throw StoreCodingError("\(kind) is not the protobuf message that it should be")
        }
        defer { withExtendedLifetime(arena) {} }
        return try value(message)
    }

    /// Appends the encoding of what `build` makes.
    static func append<Message>(
        to bytes: inout [UInt8], _ build: (MessageArena) -> UnsafeMutablePointer<Message>
    ) {
        let arena = MessageArena(bytesLimit: .max)
        withExtendedLifetime(arena) { bytes.append(contentsOf: packed(build(arena))) }
    }

    static func text(_ data: ProtobufCBinaryData, _ kind: StaticString) throws(StoreCodingError) -> String {
        guard let text = data.text else { throw StoreCodingError("\(kind) is not valid UTF-8") }
        return text
    }

    static func values<Message, Value>(
        _ messages: UnsafeMutablePointer<UnsafeMutablePointer<Message>?>?, _ count: Int,
        _ value: (UnsafeMutablePointer<Message>) throws(StoreCodingError) -> Value
    ) throws(StoreCodingError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for index in 0..<count { values.append(try value(messages![index]!)) }
        return values
    }

    static func databaseID(
        _ identity: UnsafeMutablePointer<Brume__Store__V1__DatabaseIdentity>?
    ) throws(StoreCodingError) -> DatabaseID {
        guard let identity else { throw StoreCodingError("a body names no database") }
        guard let environment = UInt8(exactly: identity.pointee.environment).flatMap(Environment.init),
            let scope = UInt8(exactly: identity.pointee.scope).flatMap(DatabaseScope.init), scope != .shared
        else {
            throw StoreCodingError("a body names an environment or a scope that this version doesn't know")
        }
        let owner = try text(identity.pointee.owner, "a database's owner")
        guard (scope == .public) == owner.isEmpty else {
            throw StoreCodingError("a body names a public database with an owner, or a private one without")
        }
        return DatabaseID(
            container: try text(identity.pointee.container, "a container"), environment: environment, scope: scope,
            owner: owner)
    }

    static func deletionReason(_ raw: UInt32) throws(StoreCodingError) -> ZoneDeletionReason {
        guard let reason = UInt8(exactly: raw).flatMap(ZoneDeletionReason.init) else {
            throw StoreCodingError("a zone was deleted for a reason that this version doesn't know")
        }
        return reason
    }

    static func subscription(
        _ put: UnsafeMutablePointer<Brume__Store__V1__SubscriptionPut>
    ) throws(StoreCodingError) -> Subscription {
        var subscription = try subscription(put.pointee.subscription)
        subscription.owner = try text(put.pointee.owner, "a subscription's owner")
        return subscription
    }

    static func subscription(_ data: ProtobufCBinaryData) throws(StoreCodingError) -> Subscription {
        try unpack(brume__v1__subscription__unpack, data.rawBuffer, "a subscription") {
            (message) throws(StoreCodingError) in
            do throws(ServiceError) { return try Subscription(message) } catch { throw StoreCodingError(error.message) }
        }
    }
}

/// A body of the data folder that can't be read: what is wrong with it. Whoever opened the file adds its path and
/// offset.
package struct StoreCodingError: Error, Equatable, Sendable {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}

extension MessageArena {
    func databaseIdentity(_ database: DatabaseID) -> Pointer<Brume__Store__V1__DatabaseIdentity> {
        let message = make(brume__store__v1__database_identity__init)
        message.pointee.container = data(database.container)
        message.pointee.environment = UInt32(database.environment.rawValue)
        message.pointee.scope = UInt32(database.scope.rawValue)
        message.pointee.owner = data(database.owner)
        return message
    }

    /// A subscription with its owner; the message holds it as bytes.
    func subscriptionPut(_ subscription: Subscription) -> Pointer<Brume__Store__V1__SubscriptionPut> {
        let put = make(brume__store__v1__subscription_put__init)
        put.pointee.subscription = data(packed(self.subscription(subscription)))
        put.pointee.owner = data(subscription.owner)
        return put
    }
}
