public import Foundation

extension Notification.Name {
    /// Brume's addition: posted when this device learns that other devices have the account's encryption keys than
    /// before, or that the recovery code is another one, whoever has changed that: this app, or another device. Show a
    /// person ``CKContainer/encryptionDevices()``: one that they don't know is a reason to remove it
    /// (``CKContainer/removeEncryptionDevice(_:)``) and to replace the code. A device that was removed learns it so,
    /// too; its ``CKContainer/encryptionStatus()`` says so.
    ///
    /// The device looks on ``CKContainer/encryptionStatus()``, ``CKContainer/encryptionDevices()`` and other calls
    /// about the account's keys, and while it encrypts or decrypts at most ten minutes after the last look. An idle app
    /// is not told. What an account had when this device first saw it is no news, and a server that hides the newest
    /// list keeps this device from learning of a change, an added device included.
    ///
    /// Observe it before the first call to the container, and don't rely on it alone: it isn't repeated, and is not
    /// posted in a run that starts after another process with the same state folder has seen the change.
    ///
    /// Posted as ``CKAccountChanged`` is: on a queue of the SDK's, with the container as its object.
    public static let CKEncryptionDevicesChanged = Notification.Name("CKEncryptionDevicesChangedNotification")
}
