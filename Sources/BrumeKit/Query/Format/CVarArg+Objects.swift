public import Foundation

// On Apple's systems objects are arguments of formats, and code says `date as CVarArg` and `ids as CVarArg` for
// predicates. Foundation on Linux has that for strings alone. In `String(format:)` such an argument is its description.

/// What functions in C get in the place of an object: `String(format:)` can take no others apart.
private func argument(_ value: Any) -> any CVarArg {
    let text = String(describing: value) as NSString
    VariadicObjects.note(value, as: text)
    return text
}

extension NSObject: @retroactive CVarArg, @retroactive _CVarArgObject {
    /// The object's description.
    public var _cVarArgObject: any CVarArg { argument(self) }
    /// The object's address: strings get here, whoever calls keeps them.
    public var _cVarArgEncoding: [Int] { [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())] }
}

extension Date: @retroactive CVarArg, @retroactive _CVarArgObject {
    /// The date's description.
    public var _cVarArgObject: any CVarArg { argument(self) }
    /// Never asked for, since ``_cVarArgObject`` comes first.
    public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}

extension Data: @retroactive CVarArg, @retroactive _CVarArgObject {
    /// The description of the data.
    public var _cVarArgObject: any CVarArg { argument(self) }
    /// Never asked for, since ``_cVarArgObject`` comes first.
    public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}

extension Array: @retroactive CVarArg, @retroactive _CVarArgObject {
    /// The description of the array.
    public var _cVarArgObject: any CVarArg { argument(self) }
    /// Never asked for, since ``_cVarArgObject`` comes first.
    public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
