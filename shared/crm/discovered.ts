/** `sql/discoveries.ts` defines the shapes of a discovery, because it stores them. */
export {DiscoveredField, DiscoveredModule, DiscoveryDiff} from '../../sql/discoveries.ts'
