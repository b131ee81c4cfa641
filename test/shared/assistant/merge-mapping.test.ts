import test from 'ava'
import type {LocalProposal} from '../../../shared/assistant/matcher/propose.ts'
import {mergeProposals} from '../../../shared/assistant/merge-mapping.ts'
import {field as discovered} from '../../support/discovered.ts'

/** Builds the matcher's proposals: one column per field, or null for a column without one. */
const proposalsOf = (fields: readonly (string | null)[]): LocalProposal[] =>
  fields.map((field, at) => {
    const candidates = field === null ? [] : [{field, module: 'People', confidence: 0.55, why: ['similar' as const]}]
    return {column: `Column ${at}`, field, module: field && 'People', confidence: field === null ? 0 : 0.55, candidates}
  })

/** Merges the model's choices, by the position of the column, and returns the field of each column. */
const merge = (fields: readonly (string | null)[], choices: Record<number, string | null>) => {
  const chosen = Object.entries(choices).map(([at, name]) => {
    const target = name === null ? null : {module: 'People', connectorId: 'con', field: discovered(name), annotation: null}
    return [Number(at), {target, confidence: 0.9, note: null}] as const
  })
  return mergeProposals(proposalsOf(fields), new Map(chosen)).map(({field}) => field)
}

test('columns swap their fields if the model chooses so', t => {
  t.deepEqual(merge(['Email', 'Phone', null], {0: 'Phone', 1: 'Email'}), ['Phone', 'Email', null])
  t.deepEqual(merge(['Email', null], {0: 'Phone', 1: 'Email'}), ['Phone', 'Email'])
})

test('a column whose choice is ignored keeps its field, even if the model chose that field for another column', t => {
  t.deepEqual(merge(['Email', 'Phone', null], {0: 'Phone', 2: 'Email'}), ['Email', 'Phone', null])
  t.deepEqual(merge(['Email', 'Phone', null], {0: 'City', 1: 'City', 2: 'Email'}), ['Email', 'Phone', null], 'a tie')
})

test('an ignored choice also ends choices that depended on it', t => {
  t.deepEqual(merge(['Email', 'Phone', 'City'], {1: 'Email', 2: 'Phone'}), ['Email', 'Phone', 'City'])
})
