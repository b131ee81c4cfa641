import {verifyKeys} from '../../../sql/verify-queue.ts'
import {openRunSeals} from '../run-seal.ts'

/** Seals and opens the values that are compared when a run is verified, and those that differ. */
export const {make: makeVerifySeal, find: findVerifySeal, reseal: resealVerifyKeys} = openRunSeals(verifyKeys, 'verify')
