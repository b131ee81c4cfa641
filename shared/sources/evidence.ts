import type {Source} from '../../sql/sources.ts'
import type {Examined} from '../imports/examine.ts'
import type {Sniffed} from '../imports/new-file.ts'

/** What was found in the file when it was last read. The oldest rows lack what is optional here. */
export type SourceEvidence = Omit<Examined, 'rows' | 'fileColumns' | 'struck'> &
  Partial<Pick<Examined, 'fileColumns' | 'struck'>> & {sniffed?: Sniffed}

/** Parses the evidence. Of a file of 16,384 columns that takes tens of milliseconds. */
export const evidenceOf = ({evidence}: Pick<Source, 'evidence'>): SourceEvidence => JSON.parse(evidence)
