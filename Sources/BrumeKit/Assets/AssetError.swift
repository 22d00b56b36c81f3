internal import BrumeSystem

/// Why an asset's file can't be uploaded, or its content not be kept on this device.
enum AssetError: Error, Equatable {
    /// The app's file is missing, can't be read, or is not a regular file; with the reason.
    case fileNotFound(String)
    /// The app's file, at this path, changed since it was opened.
    case fileModified(String)
    /// The caller asked to stop. What is on the disk can be used again.
    case cancelled
    /// What was downloaded is not the content that its checksum and size name. The part is removed; a download that
    /// continued an older part should begin once more, since the older part may have been wrong.
    case damaged
    /// The content ended too early; the part is kept.
    case incomplete(missingByteCount: Int)
    /// The device has no room. The part is kept.
    case diskFull(SystemError)
    /// The state folder can't be used.
    case failed(SystemError)

    init(_ error: SystemError) {
        self = error.isDiskFull ? .diskFull(error) : .failed(error)
    }
}

extension CKError {
    init(_ error: AssetError) {
        switch error {
        case .fileNotFound(let reason):
            self.init(.assetFileNotFound, message: "the asset's file can't be read: \(reason)")
        case .fileModified(let path):
            self.init(
                .assetFileModified,
                message: "\(path) changed while the asset was saved; save it again once the file is complete")
        case .cancelled:
            self.init(.operationCancelled, message: "the transfer of the asset was cancelled")
        case .damaged:
            self.init(
                .assetNotAvailable,
                message: "the bytes that arrived are not the asset's: its checksum or size differs; fetch it again")
        case .incomplete(let missingByteCount):
            self.init(
                .networkFailure,
                message: "the download ended \(missingByteCount) bytes before the asset's end; fetch it again to go on")
        case .diskFull(let error):
            self.init(
                .internalError,
                message: "this device has no room for the asset (\(error)); free some space and fetch it again")
        case .failed(let error):
            self.init(
                .internalError,
                message: "the asset can't be kept on this device: \(error); check the state folder (BRUME_STATE)")
        }
    }
}
