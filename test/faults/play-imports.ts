import {setTimeout as sleep} from 'node:timers/promises'
import type {Deployment} from '../support/deployment.ts'
import {carryCase, openGround, prepareCase} from './carried.ts'
import {writeCase} from './cases.ts'
import {standWorker} from './fleet.ts'
import {openProbe} from './probe.ts'
import type {Stage} from './scenario.ts'

/** `faults`: one import runs for each fault. `recoveryMs` and `answerMs`: limits for the recovery after a fault and for one answer. */
type PlayImportsInput = {faults: (() => Promise<unknown>)[]; recoveryMs: number; answerMs: number}

/** Runs imports of 300 rows on two workers while a probe writes through the API. Each import meets its fault at a random time and is judged. */
export const playImports = async (stage: Stage, here: Deployment, {faults, recoveryMs, answerMs}: PlayImportsInput): Promise<void> => {
  const ground = await openGround(here)
  here.crm.setSwitches({latencyMs: 60})
  await Promise.all([standWorker(here, stage), standWorker(here, stage)])
  const probe = openProbe(ground.org)
  let [recoveredMs, written] = [0, 0]
  for (const [at, cause] of faults.entries()) {
    const prepared = await prepareCase(ground, writeCase(stage.asked.seed + at, stage.dice, 300))
    const carried = await carryCase(ground, prepared, async () => {
      await sleep(stage.dice.between(200, 800))
      await cause()
      recoveredMs = Math.max(recoveredMs, await probe.recovers())
    })
    stage.judged(await carried.judge())
    written += carried.run.rowsWritten
  }
  stage.figure('rows written', written, {least: 1})
  stage.figure('ms until it was well again', Math.round(recoveredMs), {most: recoveryMs})
  await probe.end(here, stage, {longestMs: answerMs})
}
