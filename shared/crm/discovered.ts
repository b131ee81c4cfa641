/** What a discovery reads of a CRM, in this product's words. The shapes stand beside the queries that keep them. */
export {DiscoveredField, DiscoveredModule, DiscoveryDiff} from '../../sql/discoveries.ts'
