/// Whence a record has its stamp after a save.
package enum MergedStamp {
    /// It has none.
    case none
    /// From its older version, if that has one.
    case stored
    case sent([UInt8])
}
