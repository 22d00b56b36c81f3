public import Foundation

/// A type that a record's field can hold.
///
/// The conforming types are `String`, `Date`, `Data`, `Bool`, the floating-point and integer types, their Objective-C
/// forms `NSString`, `NSDate`, `NSData`, `NSNumber` and `NSArray`, `CKRecord.Reference`, `CLLocation`, ``CKAsset``, and
/// arrays of those. Another type that conforms compiles, but a record in which it is set can't be saved.
///
/// A field keeps one form of each kind: every integer and `Bool` is a 64-bit integer, and `Float` and `Double` are one.
/// So a number can be read as any number type that can hold its value.
public protocol CKRecordValueProtocol {}

/// CloudKit's protocol of the Objective-C forms of a record's values, which ``CKRecord/object(forKey:)`` gives.
///
/// Differs from CloudKit: the forms of Swift conform as well, because nothing bridges them on Linux.
public protocol __CKRecordObjCValue: CKRecordValueProtocol {}

/// The name that CloudKit gives to `__CKRecordObjCValue`.
public typealias CKRecordValue = __CKRecordObjCValue

extension String: __CKRecordObjCValue {}
extension Date: __CKRecordObjCValue {}
extension Data: __CKRecordObjCValue {}
extension Bool: __CKRecordObjCValue {}
extension Double: __CKRecordObjCValue {}
extension Float: __CKRecordObjCValue {}
extension Int: __CKRecordObjCValue {}
extension Int8: __CKRecordObjCValue {}
extension Int16: __CKRecordObjCValue {}
extension Int32: __CKRecordObjCValue {}
extension Int64: __CKRecordObjCValue {}
extension UInt: __CKRecordObjCValue {}
extension UInt8: __CKRecordObjCValue {}
extension UInt16: __CKRecordObjCValue {}
extension UInt32: __CKRecordObjCValue {}
extension UInt64: __CKRecordObjCValue {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension Array: __CKRecordObjCValue where Element: CKRecordValueProtocol {}
extension NSString: __CKRecordObjCValue {}
extension NSDate: __CKRecordObjCValue {}
extension NSData: __CKRecordObjCValue {}
extension NSNumber: __CKRecordObjCValue {}
extension NSArray: __CKRecordObjCValue {}
extension CKReference: __CKRecordObjCValue {}
extension CLLocation: __CKRecordObjCValue {}
