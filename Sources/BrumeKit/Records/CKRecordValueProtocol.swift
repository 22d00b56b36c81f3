public import Foundation

/// A type that a record's field can hold.
///
/// The conforming types are `String`, `Date`, `Data`, `Bool`, the floating-point and integer types, their Objective-C
/// forms `NSString`, `NSDate`, `NSData`, `NSNumber` and `NSArray`, `CKRecord.Reference`, `CLLocation`, ``CKAsset``, and arrays of those.
/// Another type that conforms compiles, but traps when it is set.
///
/// A field keeps one form of each kind: every integer and `Bool` is a 64-bit integer, and `Float` and `Double` are one. So
/// a number can be read as any number type that can hold its value.
public protocol CKRecordValueProtocol {}

/// The name that CloudKit gives to the Objective-C forms of a record's values. Here one protocol covers both.
public typealias CKRecordValue = CKRecordValueProtocol

extension String: CKRecordValueProtocol {}
extension Date: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}
extension Bool: CKRecordValueProtocol {}
extension Double: CKRecordValueProtocol {}
extension Float: CKRecordValueProtocol {}
extension Int: CKRecordValueProtocol {}
extension Int8: CKRecordValueProtocol {}
extension Int16: CKRecordValueProtocol {}
extension Int32: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension UInt: CKRecordValueProtocol {}
extension UInt8: CKRecordValueProtocol {}
extension UInt16: CKRecordValueProtocol {}
extension UInt32: CKRecordValueProtocol {}
extension UInt64: CKRecordValueProtocol {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension NSString: CKRecordValueProtocol {}
extension NSDate: CKRecordValueProtocol {}
extension NSData: CKRecordValueProtocol {}
extension NSNumber: CKRecordValueProtocol {}
extension NSArray: CKRecordValueProtocol {}
extension CKReference: CKRecordValueProtocol {}
extension CLLocation: CKRecordValueProtocol {}
