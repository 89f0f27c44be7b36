import { Composer, LineCounter, Parser, isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Alias, CST, Document, Node, Pair, ParsedNode, Range, Scalar } from 'yaml';
