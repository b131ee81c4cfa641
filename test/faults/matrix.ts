import {violence} from './r01-violence.ts'
import type {Scenario} from './scenario.ts'

/** The fault matrix, in its order. */
export const MATRIX: readonly Scenario[] = [violence]
