import {setTimeout as sleep} from 'node:timers/promises'
import {makeVerifySeal} from '../../../shared/runs/verify/verify-seal.ts'
import {findLastQueued, isQueuedUpTo, measureQueue} from '../../../sql/verify-queue.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {LeaseLost, RunPaused, RunStopped} from '../run-endings.ts'
import {runHeld} from '../send/crm-retry.ts'
import {type VerifyContext, verifyDueEntries} from './verify-entries.ts'
import {makeWrittenPacker} from './written-rows.ts'

/**
 * Verifies the rows that a run wrote, also while the run still writes. Settlements store these rows in `verify_queue`, so that a new owner of the
 * run continues where the earlier owner stopped.
 */
export type Verifier = {
  /** Resolves when every row that is in the verify queue now is verified. Rejects if the run is held or ends. */
  verifySettled(signal: AbortSignal): Promise<void>
  /** Verifies the remaining rows. Call it after the last write. `isStopped`: leaves rows whose record an abandoned batch may still write. */
  finish(options?: {isStopped?: boolean}): Promise<void>
  close(): Promise<void>
}

/**
 * While the passes write, due rows are read once there are `enoughRows`, which fill the calls, or once the oldest was due for
 * `longestWaitSeconds`.
 */
const [enoughRows, longestWaitSeconds] = [1_000, 5]
const lookMs = 250
/** If the last row of the verify queue is due within this time, the verifier waits. One read then covers the last rows too. */
const lastTogetherSeconds = 0.5

type VerifierInput = {flows: readonly CompiledFlow[]; hasCanary: boolean}

/** Opens the verifier of a run. Returns null if the run verifies no rows. `flows`: all flows that write, including patch flows. */
export const openVerifier = async (ctx: Context, {flows, hasCanary}: VerifierInput): Promise<Verifier | null> => {
  const {config, db, run, settler} = ctx
  if (run.dryRun || (run.verify === 'off' && !hasCanary)) return null
  const seal = await makeVerifySeal({db, ring: config.SECRETS_KEYS}, run)
  settler.queueWritten(makeWrittenPacker(run, seal))
  return openVerifierOf(ctx, {ctx, seal, flowOf: row => findFlow(flows, row)})
}

const findFlow = (flows: readonly CompiledFlow[], {flow, phase}: {flow: number; phase: string}): CompiledFlow => {
  const found = flows.find(({no, patchPlan}) => no === flow && Boolean(patchPlan) === (phase === 'patch'))
  if (!found) throw new Error(`A row to verify names flow ${flow}, which the run does not have`)
  return found
}

const openVerifierOf = (ctx: Context, of: VerifyContext): Verifier => {
  const {db, run, lease} = ctx
  const closing = new AbortController()
  const seconds = ctx.config.VERIFY_AFTER_SECONDS
  let last: Promise<unknown> = Promise.resolve()
  let failure: {error: unknown} | null = null

  /** Verifies the next due entries. Calls run one after another, so that entries are verified in order. */
  const verifyPart = (): Promise<boolean> => {
    const part = last.catch(() => {}).then(() => verifyDueEntries(of))
    last = part
    return part
  }
  const working = workBesidePasses(ctx, closing.signal, verifyPart).catch((error: unknown) => {
    failure = {error}
  })

  const verifyUntil = async (isDone: () => Promise<boolean>, signal: AbortSignal, {isStopped = false} = {}) => {
    for (;;) {
      signal.throwIfAborted()
      if (failure) throw failure.error
      const {lastWaitSeconds} = await measureQueue(db, {run: run.no, seconds})
      if (lastWaitSeconds <= lastTogetherSeconds) await sleep(lastWaitSeconds * 1_000, undefined, {signal})
      if (await verifyPart()) continue
      if (await isDone()) return
      const {rows, dueRows, waitSeconds} = await measureQueue(db, {run: run.no, seconds})
      // The due rows wait for batches in flight, which nothing settles any more.
      if (isStopped && dueRows === rows) return
      await sleep(Math.min(lookMs, Math.max(50, waitSeconds * 1_000)), undefined, {signal})
    }
  }
  const assertNotHeld = () => {
    const held = lease.heldSeen()
    if (held) throw runHeld(held)
  }

  return {
    async verifySettled(signal) {
      const upTo = await findLastQueued(db, run.no)
      if (upTo) await verifyUntil(async () => !(await isQueuedUpTo(db, {run: run.no, ...upTo})), signal)
      assertNotHeld()
    },
    async finish(options) {
      if (options?.isStopped) ctx.readsResults = 'afterStop'
      closing.abort()
      await working
      // With `verify: off`, only the canary is verified, and no row waits for it any more.
      if (run.verify === 'off') return
      await verifyUntil(async () => (await measureQueue(db, {run: run.no, seconds})).rows === 0, ctx.signal, options)
      assertNotHeld()
    },
    async close() {
      closing.abort()
      await working
      await last.catch(() => {})
    },
  }
}

/**
 * Verifies due entries while the passes write, until `closing` aborts. A `RunPaused` only delays verification. A lost lease, an aborted or a stopped
 * run ends the loop silently. Any other error ends it, and the next wait for verification throws that error.
 */
const workBesidePasses = async (ctx: Context, closing: AbortSignal, verifyPart: () => Promise<boolean>): Promise<void> => {
  while (!closing.aborted) {
    try {
      if (!((await isWorthReading(ctx)) && (await verifyPart()))) await sleep(lookMs, undefined, {signal: closing})
    } catch (error) {
      if (closing.aborted || ctx.signal.aborted || error instanceof LeaseLost || error instanceof RunStopped) return
      if (!(error instanceof RunPaused)) throw error
      ctx.log.warn({err: error}, 'verification is delayed')
      await sleep(error.seconds * 1_000, undefined, {signal: closing}).catch(() => {})
    }
  }
}

const isWorthReading = async ({db, run, config}: Context) => {
  const {dueRows, oldestSeconds} = await measureQueue(db, {run: run.no, seconds: config.VERIFY_AFTER_SECONDS})
  return dueRows >= enoughRows || (dueRows > 0 && oldestSeconds >= longestWaitSeconds)
}
