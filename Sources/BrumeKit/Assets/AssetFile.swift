internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// A file of the app that is about to be uploaded as an asset.
///
/// It stays open, so that all its bytes are of one file whatever happens to the name. Whether the content changed is
/// told from size, time and inode; an edit that these don't show is found by the server, which compares the checksum
/// with the bytes that arrive. Each instance costs a descriptor: callers limit how many they have at a time.
final class AssetFile: Sendable {
    let path: String
    /// The file as it was when it was opened.
    let version: FileVersion
    private let file: File

    var byteCount: Int { version.byteCount }

    /// Opens a file.
    ///
    /// - Throws: `fileNotFound` when it is missing, can't be read or is not a regular file.
    init(_ url: URL) throws(AssetError) {
        path = url.path
        do throws(SystemError) {
            file = try File(path: path, mode: .readRegular)
            version = try file.status().version
        } catch {
            throw .fileNotFound("\(error)")
        }
    }

    /// Computes the checksum of the content.
    ///
    /// - Parameter isCancelled: Asked before each MiB.
    /// - Throws: `fileModified` when the file was edited, replaced or truncated since it was opened; `fileNotFound`
    ///   when it was removed or can't be read; `cancelled`.
    func checksum(isCancelled: () -> Bool = { false }) throws(AssetError) -> AssetChecksum {
        let hash = AssetHash()
        let count: Int
        do throws(AssetError) {
            count = try hash.update(first: byteCount, of: file, isCancelled: isCancelled)
        } catch {
            guard case .failed(let error) = error else { throw error }
            throw .fileNotFound("\(error)")
        }
        guard count == byteCount else { throw .fileModified(path) }
        let versions: [FileVersion]
        do throws(SystemError) {
            versions = try currentVersions()
        } catch {
            throw .fileNotFound("\(error)")
        }
        guard versions.allSatisfy({ $0 == version }) else { throw .fileModified(path) }
        return hash.finish()
    }

    /// Whether the file is that of an asset.
    ///
    /// - Parameter isCancelled: Asked before each piece.
    /// - Throws: `fileNotFound` when it can't be read; `cancelled`.
    func holds(_ content: AssetContent, isCancelled: () -> Bool) throws(AssetError) -> Bool {
        do throws(AssetError) {
            return try AssetReceiver.isContent(content, file, byteCount: byteCount, isCancelled: isCancelled)
        } catch {
            guard case .failed(let error) = error else { throw error }
            throw .fileNotFound("\(error)")
        }
    }

    /// Whether the path still leads to this file, and the file is as it was when it was opened.
    func isUnchanged() -> Bool {
        (try? currentVersions())?.allSatisfy { $0 == version } ?? false
    }

    private func currentVersions() throws(SystemError) -> [FileVersion] {
        [try file.status().version, try FileSystem.status(path).version]
    }

    /// Reads `count` bytes at an offset; all of them are within the size that the file had when it was opened.
    ///
    /// - Throws: `fileModified` when the file has become shorter; `fileNotFound` when it can't be read.
    func read(at offset: Int, count: Int) throws(AssetError) -> [UInt8] {
        precondition(
            offset >= 0 && count >= 0 && count <= byteCount - offset,
            "\(count) bytes at \(offset) are not all within the file's \(byteCount)")
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            do throws(SystemError) {
                initializedCount = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw .fileNotFound("\(failure)") }
        guard bytes.count == count else { throw .fileModified(path) }
        return bytes
    }
}
