internal import CBrume

/// The arguments behind a `CVaListPointer`, which does not tell their number and kinds: the reader has to know them.
package enum VariadicArguments {
    package enum Kind {
        /// An integer of up to 64 bits, or a pointer.
        case word
        case double
    }

    /// The bits of each argument. With more kinds than there are arguments, the rest is undefined.
    package static func words(_ kinds: [Kind], from list: CVaListPointer) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: kinds.count)
        let letters = kinds.map { $0 == .double ? CChar(0x64) : CChar(0x77) } + [0]
        brume_variadic_words(letters, &words, list)
        return words
    }
}
