import {type Patch, splitMappings} from '../../shared/flows/patch.ts'
import type {SnapshotFlow} from '../../shared/flows/snapshot.ts'
import {HOW} from '../../sql/chain-rows.ts'
import type {ParentLink} from './parents.ts'
import {type Frozen, layTrack, type Track} from './track.ts'

/** What is written to the records of a flow's rows once all rows of all flows are written. */
export type Patching = {rules: Map<string, Rule>; parent: ParentLink | null}

type Rule = {hows: Set<number>; onlyAbsent: boolean}

/** A record that was there and left as it was. */
const MET = [HOW.matched]
const HOWS: Partial<Record<Patch['when'][number], number[]>> = {
  created: [HOW.made, HOW.taken],
  updated: [HOW.updated],
  exists: MET,
  skipped: MET,
}

/** The flow's second track, over the same file; null for a flow of which nothing is written later. */
export const layPatching = (laid: SnapshotFlow, frozen: Frozen): (Track & {patching: Patching}) | null => {
  const {patched} = splitMappings(laid.flow.fields)
  const rules = new Map(patched.map(({field, patch}) => [field, ruleOf(patch!)]))
  const fields = patched.map(mapping => ({...mapping, patch: undefined}))
  const {parent, ...track} = layTrack({...laid, flow: {...laid.flow, fields, filter: null, guard: null, match: undefined}}, frozen)
  const late = parent && parent.order !== 'before' ? parent : null
  if (late) rules.set(late.field, usual)
  return rules.size ? {...track, patching: {rules, parent: late}} : null
}

const ruleOf = ({when, overwrite}: Patch): Rule => ({
  hows: new Set(when.flatMap(status => HOWS[status] ?? [])),
  onlyAbsent: overwrite === 'if-absent',
})

const usual = ruleOf({when: ['created', 'updated'], overwrite: 'always'})
