internal import BrumeModel
internal import CBrumeProto

/// The fields of a share that the framework names: its title, its kind, and its picture.
///
/// Whoever has a share's URL is shown them before they take part, so they are of the kinds that metadata can hold. A
/// picture is data in the share itself: as an asset it could not be fetched yet.
enum ShareFields {
    /// Why a share can't be saved with the value, or nil. Other fields are the app's, and may be anything.
    static func problem(_ value: FieldChecker.Value, of key: String) -> ServiceError? {
        guard Names.shareFields.contains(key) else { return nil }
        let isPicture = key == Names.shareThumbnail
        let kind = isPicture ? BRUME__V1__VALUE__KIND_BYTES_VALUE : BRUME__V1__VALUE__KIND_STRING_VALUE
        guard value.pointee.kind_case == kind else {
            return ServiceError(
                .invalidArguments,
                "the field \"\(key)\" of a share is \(isPicture ? "data, such as a small JPEG's" : "text");"
                    + " it is shown to users who have not accepted the share yet")
        }
        let count = isPicture ? value.pointee.bytes_value.len : value.pointee.string_value.len
        let limit = isPicture ? Limits.shareThumbnailBytes : Limits.shareTextBytes
        if count <= limit { return nil }
        return ServiceError(
            .limitExceeded,
            "the field \"\(key)\" of a share has \(count) bytes; the limit is \(limit): "
                + (isPicture ? "make the picture smaller" : "make the text shorter"))
    }
}
