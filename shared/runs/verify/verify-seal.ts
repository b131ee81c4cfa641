import {verifyKeys} from '../../../sql/verify-queue.ts'
import {openRunSeals} from '../run-seal.ts'

/** Seals and opens the values that verification compares, and the values that differ. */
export const {make: makeVerifySeal, find: findVerifySeal, reseal: resealVerifyKeys} = openRunSeals(verifyKeys, 'verify')
