import {verifyKeys} from '../../../sql/verify-queue.ts'
import {openRunSeals} from '../run-seal.ts'

/** A run's seal encrypts the values that verification compares, and the differences that it finds. */
export const {make: makeVerifySeal, find: findVerifySeal, reseal: resealVerifyKeys} = openRunSeals(verifyKeys, 'verify')
