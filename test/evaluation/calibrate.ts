import {readFields} from '../../shared/assistant/matcher/field.ts'
import {readFingerprint} from '../../shared/assistant/matcher/fingerprint.ts'
import {readNeighbours} from '../../shared/assistant/matcher/meaning.ts'
import {scoreColumn} from '../../shared/assistant/matcher/score.ts'
import {normalForm} from '../../shared/assistant/matcher/words.ts'
import {fieldsOf, readTables, type Table} from './evaluate.ts'

/** Adjacent scores with one share of right columns. */
type Pool = {from: number; to: number; right: number; all: number}

const shareOf = ({right, all}: Pool) => (right + 0.5) / (all + 1)

const bestOf = (table: Table): {score: number; isRight: boolean}[] => {
  const names = Object.keys(table.columns)
  const fields = readFields(fieldsOf(table.module), [])
  const person = fields.every(({records}) => records.has('person'))
  const neighbours = readNeighbours(names, person)
  return names.flatMap(name => {
    const row = scoreColumn({name: normalForm(name), column: {name}, neighbours}, readFingerprint({name}), fields)
    const open = row.map(({score}, at) => ({score, at})).filter(({at}) => !fields[at]!.isClosed)
    const best = open.reduce((a, b) => (b.score > a.score ? b : a))
    // If the best field of a column is the right field of another column, this column says nothing about the score.
    const isTaken = names.some(other => other !== name && table.columns[other] === fields[best.at]!.field.apiName)
    return best.score > 0 && !isTaken ? [{score: best.score, isRight: table.columns[name] === fields[best.at]!.field.apiName}] : []
  })
}

/**
 * The pools that `node test/evaluation/calibrate.ts` prints: how often the best field for a column of the development set is right, by score.
 * They are an isotonic fit (pool adjacent violators). Shares are smoothed towards one half by one column, so that ten right of ten are not
 * certain. The table in shared/assistant/matcher/confidence.ts holds the printed values at round scores.
 */
const pools: Pool[] = []
const pairs = readTables('development.json').flatMap(bestOf)
for (const {score, isRight} of pairs.toSorted((a, b) => a.score - b.score)) {
  pools.push({from: score, to: score, right: Number(isRight), all: 1})
  for (let last = pools.length - 1; last > 0; last--) {
    const [before, after] = [pools[last - 1]!, pools[last]!]
    if (before.to !== after.from && before.right / before.all < after.right / after.all) break
    pools.splice(last - 1, 2, {from: before.from, to: after.to, right: before.right + after.right, all: before.all + after.all})
  }
}
for (const pool of pools) {
  console.log(`${pool.from.toFixed(3)} to ${pool.to.toFixed(3)}: ${pool.right} of ${pool.all}, ${shareOf(pool).toFixed(3)}`)
}
