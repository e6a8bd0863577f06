use std::fs;

use super::*;
use crate::metadata::tests::TempFolder;

const WORDS: [&str; 4] = ["[UNK]", "forklift", "operator", "##s"];

/// Writes a model whose words have these vectors.
fn model(vectors: &[[f32; 2]]) -> TempFolder {
    let folder = TempFolder::new();
    let vocabulary: Value = WORDS.iter().zip(0..).map(|(word, id)| (*word, id)).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "post_processor": null,
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                        "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": vocabulary },
    });
    fs::write(folder.0.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(folder.0.join("config.json"), "{}").unwrap();
    fs::write(folder.0.join("model.safetensors"), safetensors(vectors)).unwrap();
    folder
}

/// The length of the header, the header, and the numbers.
fn safetensors(vectors: &[[f32; 2]]) -> Vec<u8> {
    let numbers: Vec<u8> =
        vectors.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    let shape = [vectors.len(), 2];
    let tensor = json!({ "dtype": "F32", "shape": shape, "data_offsets": [0, numbers.len()] });
    let header = json!({ "embeddings": tensor }).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(numbers);
    file
}

const VECTORS: [[f32; 2]; 4] = [[9.0, 9.0], [3.0, 0.0], [0.0, 4.0], [-3.0, 3.0]];

#[tokio::test]
async fn a_text_is_the_mean_of_its_words() {
    let folder = model(&VECTORS);
    let model = Model::open(&folder.0).unwrap();
    assert_eq!(model.dimension(), 2);
    let embedded =
        model.embed(&["Forklift", "forklift OPERATOR", "forklifts nobody"]).await.unwrap();
    // (3, 0); (3, 4); (3 − 3, 0 + 3), as words that it does not know count nothing.
    let known = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]];
    for (vector, known) in embedded.vectors.iter().zip(known) {
        assert!(
            (vector[0] - known[0]).abs() < 1e-6 && (vector[1] - known[1]).abs() < 1e-6,
            "{vector:?}"
        );
    }
}

#[tokio::test]
async fn a_text_that_says_nothing_to_the_model_has_no_direction() {
    let folder = model(&VECTORS);
    let model = Model::open(&folder.0).unwrap();
    for text in ["", " ", "nobody", "\0", "…"] {
        let error = model.embed(&["forklift", text]).await.unwrap_err();
        assert_eq!((error.code, error.at.as_deref()), (Code::InvalidQuery, Some("/1")), "{text:?}");
    }
    for text in ["forklift ".repeat(900), format!("forklift {}", "叉".repeat(2_000))] {
        assert_eq!(model.embed(&[&text]).await.unwrap().vectors[0][0], 1.0);
    }
}

#[test]
fn what_is_no_model_is_refused() {
    let refused = |folder: &Path| Model::open(folder).unwrap_err().message;
    assert!(refused(Path::new("minishlab/potion-base-8M")).contains("does not exist"));
    assert!(refused(&TempFolder::new().0).contains("no valid model layout"));
    let folder = model(&VECTORS);
    let path = folder.0.join("model.safetensors");
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(refused(&folder.0).contains("cannot be used"), "{length} bytes of {}", whole.len());
    }
}

#[tokio::test]
async fn words_without_a_vector_are_found_out() {
    let folder = model(&VECTORS[..2]);
    let model = Model::open(&folder.0).unwrap();
    assert!(model.embed(&["forklift"]).await.is_ok());
    let error = model.embed(&["operator"]).await.unwrap_err();
    assert!(error.message.contains("does not fit"), "{error}");
}
