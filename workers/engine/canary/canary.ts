import {passCanary, type RunHead} from '../../../sql/run-heads.ts'
import {countAt} from '../../../sql/run-log.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow, ImportRow, StepKind} from '../model.ts'
import {LeaseLost} from '../run-endings.ts'
import type {Op} from '../settle/verdict.ts'
import type {Verifier} from '../verify/verify.ts'

/** The first rows of each kind in each module. They are verified before other rows of the kind are sent. */
export type Canary = {
  split(flow: CompiledFlow, kind: StepKind, ops: Op[]): {now: Op[]; later: Op[]}
  /** Whether the kind needs no canary or its canary is verified. */
  isPassed(flow: CompiledFlow, kind: StepKind): boolean
  /** Notes that these rows are settled. */
  end(rows: readonly ImportRow[]): void
  /** Whether the kind's other rows may be sent. Returns false while a canary row is unsettled. If all are settled, verifies the canary first. */
  pass(flow: CompiledFlow, kind: StepKind, signal: AbortSignal): Promise<boolean>
}

/**
 * The canary of one kind in one module. `taken`: the number of rows that this owner chose or earlier owners wrote. `open`: the chosen rows
 * that are not settled.
 */
type Gate = {taken: number; open: Set<ImportRow>; isPassed: boolean}

/** Opens the gates of a canary. Null: the run has no canary left to pass. Rows that earlier owners wrote are canary rows too. */
export const openCanaryGates = ({canary, canaryPassed, counts}: Pick<RunHead, 'canary' | 'canaryPassed' | 'counts'>) => {
  if (canary === null || canaryPassed.includes('*')) return null
  const gates = new Map<string, Gate>()
  const gateOf = (flow: CompiledFlow, kind: 'create' | 'update'): Gate => {
    const name = nameOf(flow, kind)
    const taken = counts[countAt(flow.module.no, kind === 'create' ? 'created' : 'updated')] ?? 0
    const gate = gates.get(name) ?? {taken, open: new Set(), isPassed: canaryPassed.includes(name)}
    gates.set(name, gate)
    return gate
  }
  return {size: canary, gates, gateOf}
}

type CanaryGates = NonNullable<ReturnType<typeof openCanaryGates>>

const nameOf = ({module}: CompiledFlow, kind: StepKind) => `${module.no} ${kind}`

/**
 * Whether the flow's writes of this kind have a canary. Deletes and undos have none. Patches and tags have none either, because they write
 * records that earlier passes wrote.
 */
const hasCanary = ({patchPlan, tags, judge}: CompiledFlow, kind: StepKind): kind is 'create' | 'update' =>
  kind !== 'delete' && !patchPlan && !tags && !judge

export const openCanary = (ctx: Pick<Context, 'db' | 'run' | 'lease'>, {size, gates, gateOf}: CanaryGates, verifier: Verifier): Canary => ({
  split(flow, kind, ops) {
    if (!hasCanary(flow, kind)) return {now: ops, later: []}
    const gate = gateOf(flow, kind)
    if (gate.isPassed) return {now: ops, later: []}
    const [now, later]: [Op[], Op[]] = [[], []]
    for (const op of ops) {
      if (!op.row.isCanary && gate.taken < size) {
        gate.taken++
        op.row.isCanary = true
        gate.open.add(op.row)
      }
      // A row that was sent before does not wait for the canary. At the run's row limit, the canary waits for that row, so the run would hang.
      if (op.row.isCanary || op.row.unansweredSends > 0) now.push(op)
      else later.push(op)
    }
    return {now, later}
  },
  isPassed: (flow, kind) => !hasCanary(flow, kind) || gateOf(flow, kind).isPassed,
  end(rows) {
    for (const gate of gates.values()) for (const row of rows) gate.open.delete(row)
  },
  async pass(flow, kind, signal) {
    if (!hasCanary(flow, kind)) return true
    const gate = gateOf(flow, kind)
    if (gate.isPassed) return true
    if (gate.open.size > 0) return false
    await verifier.verifySettled(signal)
    const isOwner = await passCanary(ctx.db, {run: ctx.run.no, fence: ctx.lease.fence, kind: nameOf(flow, kind)})
    if (!isOwner) throw new LeaseLost('Another owner took the run')
    gate.isPassed = true
    return true
  },
})
