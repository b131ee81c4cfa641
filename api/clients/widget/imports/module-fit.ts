import {type Module, nameOfModule} from './fields.ts'
import type {Proposal} from './proposal.ts'

/**
 * A module is suggested if the sum of its columns' confidences is at least `leastSum`, and at least `leastShare` times the number of columns.
 */
const [leastSum, leastShare] = [1.5, 0.4]

/** Returns the first module whose plural or singular name is a word of the file's name. */
export const findNamed = (modules: Module[], label: string): Module | undefined => {
  const words = new Set(label.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  return modules.find(module => [nameOfModule(module), module.singular ?? ''].some(name => words.has(name.toLowerCase())))
}

/**
 * Returns the module with the highest sum of confidences, or null if the sum is too low. Each column counts once, with its best field of the
 * module.
 */
export const bestModule = (modules: string[], proposals: Proposal[]): string | null => {
  const sums = modules.map(module => ({
    module,
    sum: proposals.reduce(
      (sum, {candidates, ...first}) =>
        sum +
        Math.max(0, ...[first, ...candidates].filter(one => one.module === module && one.field !== null).map(({confidence}) => confidence)),
      0,
    ),
  }))
  const [best] = sums.toSorted((one, other) => other.sum - one.sum)
  return best && best.sum >= leastSum && best.sum >= leastShare * proposals.length ? best.module : null
}
