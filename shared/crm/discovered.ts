/** The result of a discovery. `sql/discoveries.ts` defines the shapes, because it stores them. */
export {DiscoveredField, DiscoveredModule, DiscoveryDiff} from '../../sql/discoveries.ts'
