internal import BrumeEncryption
internal import BrumeModel

/// What was uploaded of a file.
package struct UploadedFile: Sendable {
    /// What the server keeps, with the receipt by which a save names it.
    let asset: Asset
    /// What opens it; nil for one that is not encrypted.
    let secret: AssetSecret?
}
