import {createHash} from 'node:crypto'

export type PlanKind = 'create' | 'update' | 'delete' | 'replace' | 'nested'

/**
 * What a plan does with a row. `target`: the record, or the placeholder id of a record that the plan creates; null for a create.
 * `valuesHash`: hash of the values to write. `modifiedAt`: when the target was last changed, as the dry run read it; null if the plan
 * creates the target.
 */
export type StepFacts = {kind: PlanKind; target: string | null; valuesHash: string; modifiedAt: string | null}

/** A step of a plan. A row has at most one step per flow and phase. */
export type PlanStep = StepFacts & {flow: number; row: number; phase: 'write' | 'patch'}

/** A step as it is stored and hashed. */
type StepLine = [
  flow: number,
  row: number,
  phase: PlanStep['phase'],
  kind: PlanKind,
  target: string | null,
  valuesHash: string,
  at: string | null,
]

export const stepsPerChunk = 1_000

/** The first value of the hash chain over a plan's chunks: the hash of the name of the line format. */
export const firstHash = createHash('sha256').update('lading plan 1').digest('hex')

export const lineOfStep = ({flow, row, phase, kind, target, valuesHash, modifiedAt}: PlanStep): StepLine => [
  ...([flow, row, phase, kind, target, valuesHash, modifiedAt] as const),
]

export const stepOfLine = ([flow, row, phase, kind, target, valuesHash, modifiedAt]: StepLine): PlanStep => ({
  flow,
  row,
  phase,
  kind,
  target,
  valuesHash,
  modifiedAt,
})

export const hashChunk = (previous: string, lines: Buffer): string => createHash('sha256').update(previous).update(lines).digest('hex')
