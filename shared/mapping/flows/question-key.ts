import {createHash} from 'node:crypto'
import type {QuestionKind} from '../../../sql/decisions.ts'

/**
 * `field`: the field of a lookup or of an edited value. `value`: one-way hash of what the waiting rows share, such as the normalised value to match.
 */
type About = {kind: QuestionKind; flowId: string; field: string | null; value: Buffer}

/** Returns 16 bytes, which are equal for every row and run of an import that asks the same question. */
export const questionKeyOf = ({kind, flowId, field, value}: About): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([kind, flowId, field, value.toString('hex')]))
    .digest()
    .subarray(0, 16)
