internal import BrumeLock
public import Foundation

/// Small values under keys, the same on all devices of the user: preferences and where the user was, not documents.
///
/// Values are property lists: `String`, `Data`, `Date`, numbers, `Bool`, and arrays and dictionaries with string keys
/// of these, nested up to 64 levels. Others trap with a sentence. A store holds 1,024 keys of 64 bytes in UTF-8 (longer
/// ones trap) and 1 MB in all; one value takes up to 998,000 bytes, so that its record stays within CloudKit's 1 MB.
///
/// Reads and writes are local, at once and without a connection; any thread may make them. What is set is written to
/// the disk after 0.2 s, or by ``synchronize()``, in the folder of ``BrumeConfiguration/stateFolder``; a file that was
/// damaged is put aside, and the server's values are fetched anew. It goes to the server after half a second together
/// with what follows, at most every 2 s, and from there to the other devices by push. When devices set one key, the
/// value that the server gets last stays.
///
/// Changes by others are told with ``didChangeExternallyNotification``.
///
/// - Without an account the store is this device's. When an account signs in, it takes over the values for which it has
///   none. While the server can't be reached, writes wait, across launches too. After a sign-out, a switch
///   (``CKContainer/signIn(token:)``) or an arrival the store holds what belongs to the account that is there then;
///   writes of the account before wait for its return.
/// - A write that would exceed the limits is not made: the old value stays, and a quota violation is posted. Where
///   devices exceed them together, the latest writes that are not uploaded are taken back.
///
/// On the server a store is the zone `brume.key-value-store` of the container's private database, with a record of type
/// `BrumeKeyValue` for each key, whose field `value` holds the value (see `proto/README.md`, "Key-value stores"), and
/// the zone subscription `brume.key-value-store`. In production the type has to be deployed: `brume schema deploy`;
/// before that, writes wait. The zone shows in `allRecordZones()`; deleting it empties the store on all devices.
///
/// Differs from CloudKit: there is one store for each container instead of one for each app; a device's folder is used
/// by one process, and by one store of a container, at a time.
public final class NSUbiquitousKeyValueStore: NSObject, Sendable {
    /// Posted when something else than this object changed the store: another device, the first fetch, an account that
    /// came or went, or a limit. Its object is the store.
    ///
    /// `userInfo` has the reason under ``NSUbiquitousKeyValueStoreChangeReasonKey`` and the keys, as `[String]`, under
    /// ``NSUbiquitousKeyValueStoreChangedKeysKey``. Posted on a queue of the SDK's, one after the other.
    public static let didChangeExternallyNotification = NSNotification.Name(
        "NSUbiquitousKeyValueStoreDidChangeExternallyNotification")

    private static let defaultStore = Lock<NSUbiquitousKeyValueStore?>(nil)

    /// The store of ``CKContainer/default()``, whose account it follows.
    public class var `default`: NSUbiquitousKeyValueStore {
        let container = CKContainer.default()
        return defaultStore.withLock { store in
            if let store, store.container === container { return store }
            let made = NSUbiquitousKeyValueStore(container: container)
            store = made
            return made
        }
    }

    private let container: CKContainer
    private let driver: KeyValueStoreDriver

    /// Brume's addition: the store of a container, whose account it follows. Keep the object for as long as changes are
    /// to be told.
    public init(container: CKContainer) {
        self.container = container
        let poster = KeyValueStorePoster()
        driver = KeyValueStoreDriver(core: container.core) { poster.post($0, keys: $1) }
        super.init()
        poster.attach(self)
    }

    deinit { driver.close() }

    /// Brings what was set to the disk. The server is not waited for.
    ///
    /// - Returns: Whether it is on the disk. False when the state folder can't be written; the store goes on in memory
    ///   then.
    @discardableResult
    public func synchronize() -> Bool { driver.synchronize() }

    /// All keys with their values.
    public var dictionaryRepresentation: [String: Any] {
        Dictionary(
            driver.values.compactMap { key, value in KeyValueCoding.decode(value).map { (key, $0) } },
            uniquingKeysWith: { $1 })
    }

    // MARK: Reading

    /// The value of a key; nil: none. Numbers and truth values are `NSNumber`s, which cast to each type that holds
    /// them.
    public func object(forKey aKey: String) -> Any? {
        driver.value(forKey: aKey).flatMap(KeyValueCoding.decode)
    }

    /// The string of a key; nil when its value is none.
    public func string(forKey aKey: String) -> String? { object(forKey: aKey) as? String }

    /// The array of a key; nil when its value is none.
    public func array(forKey aKey: String) -> [Any]? { object(forKey: aKey) as? [Any] }

    /// The dictionary of a key; nil when its value is none.
    public func dictionary(forKey aKey: String) -> [String: Any]? { object(forKey: aKey) as? [String: Any] }

    /// The data of a key; nil when its value is none.
    public func data(forKey aKey: String) -> Data? { object(forKey: aKey) as? Data }

    /// The integer of a key, a floating-point number's whole part; 0 when its value is no number.
    public func longLong(forKey aKey: String) -> Int64 { (object(forKey: aKey) as? NSNumber)?.int64Value ?? 0 }

    /// The number of a key; 0 when its value is none.
    public func double(forKey aKey: String) -> Double { (object(forKey: aKey) as? NSNumber)?.doubleValue ?? 0 }

    /// The truth value of a key, true for numbers other than 0; false when its value is neither.
    public func bool(forKey aKey: String) -> Bool { (object(forKey: aKey) as? NSNumber)?.boolValue ?? false }

    // MARK: Writing

    /// Sets a key's value; nil removes the key. Traps for values that are none of a property list.
    public func set(_ anObject: Any?, forKey aKey: String) {
        guard let anObject else { return removeObject(forKey: aKey) }
        guard let value = KeyValueCoding.encode(anObject) else {
            preconditionFailure(
                "NSUbiquitousKeyValueStore: \(type(of: anObject)) for key \"\(aKey)\" is no property list; set String, Data, Date, "
                    + "numbers, Bool, or arrays and dictionaries of these, nested up to \(KeyValueStoreLimits.nestingMax) levels"
            )
        }
        write(value, forKey: aKey)
    }

    /// Sets a key to a string; nil removes the key.
    public func set(_ aString: String?, forKey aKey: String) { set(aString as Any?, forKey: aKey) }

    /// Sets a key to data; nil removes the key.
    public func set(_ aData: Data?, forKey aKey: String) { set(aData as Any?, forKey: aKey) }

    /// Sets a key to an array; nil removes the key.
    public func set(_ anArray: [Any]?, forKey aKey: String) { set(anArray as Any?, forKey: aKey) }

    /// Sets a key to a dictionary; nil removes the key.
    public func set(_ aDictionary: [String: Any]?, forKey aKey: String) { set(aDictionary as Any?, forKey: aKey) }

    /// Sets a key to an integer.
    public func set(_ value: Int64, forKey aKey: String) { set(NSNumber(value: value) as Any?, forKey: aKey) }

    /// Sets a key to a number.
    public func set(_ value: Double, forKey aKey: String) { set(NSNumber(value: value) as Any?, forKey: aKey) }

    /// Sets a key to a truth value.
    public func set(_ value: Bool, forKey aKey: String) { set(NSNumber(value: value) as Any?, forKey: aKey) }

    /// Removes a key with its value.
    public func removeObject(forKey aKey: String) { write(nil, forKey: aKey) }

    private func write(_ value: [UInt8]?, forKey key: String) {
        precondition(
            key.utf8.count <= KeyValueStoreLimits.keyBytesMax,
            "NSUbiquitousKeyValueStore: a key has \(key.utf8.count) bytes; the limit is \(KeyValueStoreLimits.keyBytesMax)"
        )
        driver.set(value, forKey: key)
    }

    /// The container's name.
    public override var description: String {
        "<NSUbiquitousKeyValueStore: \(container.containerIdentifier ?? "no identifier")>"
    }
}

/// In `userInfo` of ``NSUbiquitousKeyValueStore/didChangeExternallyNotification``: why, one of the four numbers.
public let NSUbiquitousKeyValueStoreChangeReasonKey = "NSUbiquitousKeyValueStoreChangeReasonKey"

/// In `userInfo` of ``NSUbiquitousKeyValueStore/didChangeExternallyNotification``: the keys, as `[String]`.
public let NSUbiquitousKeyValueStoreChangedKeysKey = "NSUbiquitousKeyValueStoreChangedKeysKey"

/// Another device changed values.
public var NSUbiquitousKeyValueStoreServerChange: Int { KeyValueStoreStateMachine.Reason.serverChange.rawValue }

/// The account's values were fetched for the first time, and took the place of what was set before.
public var NSUbiquitousKeyValueStoreInitialSyncChange: Int { KeyValueStoreStateMachine.Reason.initialSync.rawValue }

/// What was set for the keys exceeds a limit and was not taken, or was taken back.
public var NSUbiquitousKeyValueStoreQuotaViolationChange: Int {
    KeyValueStoreStateMachine.Reason.quotaViolation.rawValue
}

/// Another account is there, or none, with values of its own.
public var NSUbiquitousKeyValueStoreAccountChange: Int { KeyValueStoreStateMachine.Reason.accountChange.rawValue }
