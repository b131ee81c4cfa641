export {type SourceCode, SourceFailure} from './failure.ts'
export {type FetchResult as Fetched, fetchSource} from './fetch.ts'
export {fillPlaceholders} from './placeholders.ts'
export {
  type DescribedSource as Described,
  describeSource,
  mergeCredentials,
  openSource,
  replaceLost,
  type SealedSource,
  sealSource,
} from './sealed.ts'
export {FileSource, SourceChange} from './source.ts'
