/**
 * Quotes a field name that is a reserved SQL word, because COQL refuses the bare name with SYNTAX_ERROR. Source: question 1 of Kaizen #171,
 * help.zoho.com. That page lists no reserved words, so `RESERVED` has the words of the SQL standard.
 */
export const quoteName = (name: string) => (RESERVED.has(name.toLowerCase()) ? `'${name}'` : name)

const RESERVED = new Set(
  `absolute action add all allocate alter and any are array as asc asensitive assertion asymmetric at atomic authorization avg before begin
  between bigint binary blob boolean both by call called cardinality cascade cascaded case cast char character check clob close coalesce collate
  collation collect column commit condition connect connection constraint constraints convert corr corresponding count create cross cube current
  cursor cycle date day deallocate dec decimal declare default deferrable deferred delete dense_rank deref desc describe descriptor deterministic
  diagnostics disconnect distinct domain double drop dynamic each element else end escape every except exception exec execute exists exp external
  extract false fetch filter first float floor for foreign found free from full function fusion get global go goto grant group grouping having
  hold hour identity immediate in indicator initially inner inout input insensitive insert int integer intersect intersection interval into is
  isolation join key language large last lateral leading left level like limit local lower match max member merge method min minute mod modifies
  module month multiset names national natural nchar next no none normalize not null numeric of offset old on only open option or order out outer
  output over overlaps overlay pad parameter partial partition position power precision prepare preserve primary prior privileges procedure public
  range rank read reads real recursive ref references relative release restrict result return returns revoke right rollback rollup row rows schema
  scope scroll search second section select sensitive session set similar size smallint some space specific sql start static submultiset substring
  sum symmetric system table temporary then time timestamp timezone to trailing transaction translate translation treat trigger trim true uescape
  union unique unknown unnest update upper usage user using value values varchar varying view when whenever where window with within without work
  write year zone`.split(/\s+/),
)
