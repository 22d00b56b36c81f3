public import Foundation

extension Notification.Name {
    /// Brume's addition: posted when this device learns that other devices have the account's encryption keys than
    /// before, or that the recovery code is another one, whoever has changed that: this app, or another device. Show a
    /// person ``CKContainer/encryptionDevices()``: one that they don't know is a reason to remove it
    /// (``CKContainer/removeEncryptionDevice(_:)``) and to replace the code. A device that was removed learns it so,
    /// too; its ``CKContainer/encryptionStatus()`` says so.
    ///
    /// The device looks when the app asks for either, and every ten minutes in which it encrypts or decrypts. A server
    /// can keep it from learning that somebody was removed, but nobody is added without being listed. What an account
    /// had when this device first saw it is no news.
    ///
    /// Posted as ``CKAccountChanged`` is: on a queue of the SDK's, with the container as its object.
    public static let CKEncryptionDevicesChanged = Notification.Name("CKEncryptionDevicesChangedNotification")
}
