import {verifyKeys} from '../../../sql/verify-queue.ts'
import {openRunSeals} from '../run-seal.ts'

/** Opens a run's seal for the values that verification compares and the differences that it finds. Reseals the keys of these seals. */
export const {make: makeVerifySeal, find: findVerifySeal, reseal: resealVerifyKeys} = openRunSeals(verifyKeys, 'verify')
